//! The limits of requests, each with a name.

use std::time::Duration;

/// Documents, or values, of a page where nothing is said.
pub(super) const PAGE_USUAL: usize = 100;

/// Documents, or values, that one page may have.
pub(super) const PAGE_MAX: usize = 10_000;

/// Operations of one transaction.
pub(super) const OPERATIONS_MAX: usize = 10_000;

/// Feeds of changes at a time; each has a thread.
pub(super) const FEEDS_MAX: usize = 256;

/// How long a feed may be silent before it sends a comment, by which the connection stays open, and one
/// that is lost is noticed.
pub(super) const FEED_HEARTBEAT: Duration = Duration::from_secs(15);

/// How often a feed looks whether the server is about to end.
pub(super) const FEED_LOOK: Duration = Duration::from_millis(250);

/// The rest of a feed after a gap.
pub(super) const FEED_GAP_REST: Duration = Duration::from_millis(100);

/// How long a client may pause while it takes an export, or the events of a feed.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(60);
