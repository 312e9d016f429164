//! The limits of requests, each with a name.

use std::time::Duration;

/// Documents, or values, of a page where nothing is said.
pub(super) const PAGE_USUAL: usize = 100;

/// Documents, or values, that one page may have.
pub(super) const PAGE_MAX: usize = 10_000;

/// Operations of one transaction.
pub(super) const OPERATIONS_MAX: usize = 10_000;

/// How long a client may pause while it takes an export.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(60);
