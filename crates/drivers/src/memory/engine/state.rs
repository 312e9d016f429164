//! The state of the memory engine: an immutable tree and its version.

use std::ops::Bound;
use std::sync::Arc;

use arc_swap::ArcSwap;
use espalier_keyspace::{KeyRange, Version};
use imbl::OrdMap;
use parking_lot::Mutex;

use crate::recent::{Recent, Recorder};

/// Keys and values, in key order. Both are shared between the trees of neighbouring versions.
pub(crate) type Tree<V = Arc<[u8]>> = OrdMap<Arc<[u8]>, V>;

/// A committed state.
#[derive(Clone, Default)]
pub(crate) struct State<V = Arc<[u8]>> {
    pub(crate) version: Version,
    pub(crate) tree: Tree<V>,
}

/// The engine, shared by the driver and its watchers.
pub(crate) struct Engine {
    /// The newest committed state.
    pub(crate) state: ArcSwap<State>,
    /// Held by the one who commits.
    pub(crate) writer: Mutex<()>,
    /// The newest commits, for watchers.
    pub(crate) recent: Recent,
}

impl Engine {
    /// An engine that begins with a state.
    pub(crate) fn new(state: State) -> Self {
        Self {
            writer: Mutex::new(()),
            recent: Recent::after(state.version),
            state: ArcSwap::from_pointee(state),
        }
    }

    /// Makes a tree the newest state, and tells the watchers what led to it. To be called by the
    /// one who commits.
    pub(crate) fn publish(&self, version: Version, tree: Tree, recorder: Recorder) {
        self.state.store(Arc::new(State { version, tree }));
        self.recent.push(version, recorder);
    }
}

/// The bounds of a range, as maps take them.
pub(crate) fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let end = range.end.as_deref();
    (
        Bound::Included(range.start.as_slice()),
        end.map_or(Bound::Unbounded, Bound::Excluded),
    )
}
