//! The limits of requests, each with a name.

use std::time::Duration;

use crate::stream_slots::StreamLimits;

/// Default page size, in documents or values.
pub(super) const PAGE_DEFAULT: usize = 100;

/// Maximum page size, in documents or values.
pub(super) const PAGE_MAX: usize = 10_000;

/// Operations of one transaction.
pub(super) const OPERATIONS_MAX: usize = 10_000;

// Each feed has a thread, because engines are waited for in blocking calls: docs/decisions/0053.
/// Maximum number of open change feeds; each has a thread.
pub(super) const FEEDS: StreamLimits = StreamLimits {
    open_max: 256,
    of_user_max: 64,
};

/// Interval of comments on an idle feed: they keep the connection open and detect lost clients.
pub(super) const FEED_HEARTBEAT: Duration = Duration::from_secs(15);

/// How often a feed checks for shutdown.
pub(super) const FEED_SHUTDOWN_CHECK: Duration = Duration::from_millis(250);

/// Pause of a feed after a gap.
pub(super) const FEED_GAP_PAUSE: Duration = Duration::from_millis(100);

/// Maximum pause of a client while it reads an export or a feed.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(60);
