//! The state of the memory engine: an immutable tree and its version.

use std::ops::Bound;
use std::sync::Arc;

use arc_swap::ArcSwap;
use espalier_keyspace::{KeyRange, Version};
use imbl::OrdMap;
use parking_lot::Mutex;

use crate::recent::Recent;

/// Keys and values, in key order. Both are shared between the trees of neighbouring versions.
pub(in crate::memory) type Tree = OrdMap<Arc<[u8]>, Arc<[u8]>>;

/// A committed state.
#[derive(Clone, Default)]
pub(in crate::memory) struct State {
    pub(in crate::memory) version: Version,
    pub(in crate::memory) tree: Tree,
}

/// The engine, shared by the driver and its watchers.
pub(in crate::memory) struct Engine {
    /// The newest committed state.
    pub(in crate::memory) state: ArcSwap<State>,
    /// Held by the one who commits.
    pub(in crate::memory) writer: Mutex<()>,
    /// The newest commits, for watchers.
    pub(in crate::memory) recent: Recent,
}

impl Engine {
    pub(in crate::memory) fn new() -> Self {
        Self {
            state: ArcSwap::default(),
            writer: Mutex::new(()),
            recent: Recent::after(Version::default()),
        }
    }
}

/// The bounds of a range, as maps take them.
pub(in crate::memory) fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let end = range.end.as_deref();
    (
        Bound::Included(range.start.as_slice()),
        end.map_or(Bound::Unbounded, Bound::Excluded),
    )
}
