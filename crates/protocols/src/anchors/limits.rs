//! The limits of open anchors.

use std::time::Duration;

/// The limits of open anchors.
#[derive(Clone, Copy, Debug)]
pub struct AnchorLimits {
    /// The maximum number of open anchors, in addition to the default anchor: for another one, the least recently used
    /// is closed. One takes a few kilobytes.
    pub open_max: usize,
    /// An anchor without requests for this long is closed.
    pub idle_max: Duration,
}

impl Default for AnchorLimits {
    fn default() -> Self {
        Self {
            open_max: 4096,
            idle_max: Duration::from_secs(600),
        }
    }
}

/// The interval of looking for changes of the catalog.
// A look with each request would be a round trip to the engine: docs/decisions/0014.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The longest interval of looking while the default anchor cannot be opened.
pub(super) const CHECK_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// After this number of intervals, open anchors are checked even if the catalog seems unchanged: another store may
/// have been copied over this one.
pub(super) const CHECKS_PER_EPOCH: u32 = 10;

/// How often an anchor whose modules are replaced while it is being opened is opened again.
pub(super) const OPEN_ATTEMPTS_MAX: u32 = 10;

/// The default number of entries of a page.
pub(super) const PAGE_DEFAULT: usize = 100;

/// The maximum number of entries of a page.
pub(super) const PAGE_MAX: usize = 1000;
