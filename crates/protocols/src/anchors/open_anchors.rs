//! The open anchors, with a limit on their number.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hashlink::LruCache;
use parking_lot::Mutex;

use super::{AnchorLimits, AnchorName, ServedAnchor};

/// The open anchors, in the order of their last use.
pub(super) struct OpenAnchors {
    idle_max: Duration,
    by_name: Mutex<LruCache<AnchorName, OpenAnchor>>,
}

/// An open anchor.
struct OpenAnchor {
    anchor: Arc<ServedAnchor>,
    /// The epoch in which it was last found to be current.
    epoch: u64,
    used: Instant,
}

/// The result of looking for an anchor.
pub(super) enum Lookup {
    /// It is open, and was found to be current in this epoch.
    Current(Arc<ServedAnchor>),
    /// It is open, and has to be checked.
    Unchecked(Arc<ServedAnchor>),
    /// It is not open.
    Closed,
}

impl OpenAnchors {
    pub(super) fn new(limits: AnchorLimits) -> Self {
        Self {
            idle_max: limits.idle_max,
            by_name: Mutex::new(LruCache::new(limits.open_max.max(1))),
        }
    }

    /// Looks for an anchor, and marks it as used.
    pub(super) fn get(&self, name: &AnchorName, epoch: u64) -> Lookup {
        let mut by_name = self.by_name.lock();
        let Some(open) = by_name.get_mut(name) else {
            return Lookup::Closed;
        };
        open.used = Instant::now();
        let anchor = Arc::clone(&open.anchor);
        match open.epoch == epoch {
            true => Lookup::Current(anchor),
            false => Lookup::Unchecked(anchor),
        }
    }

    /// Marks an anchor as current in an epoch, if it is still open.
    pub(super) fn mark_current(&self, name: &AnchorName, anchor: &Arc<ServedAnchor>, epoch: u64) {
        let mut by_name = self.by_name.lock();
        if let Some(open) = by_name.peek_mut(name)
            && Arc::ptr_eq(&open.anchor, anchor)
        {
            open.epoch = epoch;
        }
    }

    /// Adds an anchor that was opened in an epoch; the least recently used one is closed if there are too many.
    pub(super) fn insert(&self, name: AnchorName, anchor: Arc<ServedAnchor>, epoch: u64) {
        let open = OpenAnchor {
            anchor,
            epoch,
            used: Instant::now(),
        };
        self.by_name.lock().insert(name, open);
    }

    /// Closes an anchor.
    pub(super) fn remove(&self, name: &AnchorName) {
        self.by_name.lock().remove(name);
    }

    /// Closes the anchors without requests for too long.
    pub(super) fn close_idle(&self) {
        let mut by_name = self.by_name.lock();
        while let Some((_, open)) = by_name.iter().next()
            && open.used.elapsed() >= self.idle_max
        {
            by_name.remove_lru();
        }
    }

    /// The number of open anchors.
    pub(super) fn len(&self) -> usize {
        self.by_name.lock().len()
    }
}
