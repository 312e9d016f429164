//! The state of the in-memory engine: keys and values with their version.

use espalier_keyspace::{ByteMap, Version};
use parking_lot::{Mutex, RwLock};

use crate::recent_commits::{RecentCommits, Recorder};

/// A committed state. Cloning takes constant time.
#[derive(Clone, Default)]
pub(crate) struct VersionedMap {
    pub(crate) version: Version,
    pub(crate) map: ByteMap,
}

/// The newest state of an engine or a view.
#[derive(Default)]
pub(crate) struct LatestState(RwLock<VersionedMap>);

impl LatestState {
    /// Returns a clone of the state.
    pub(crate) fn get(&self) -> VersionedMap {
        self.0.read().clone()
    }

    /// Returns the version.
    pub(crate) fn version(&self) -> Version {
        self.0.read().version
    }

    /// Reads the state; writers wait meanwhile.
    pub(crate) fn read_with<T>(&self, read: impl FnOnce(&VersionedMap) -> T) -> T {
        read(&self.0.read())
    }

    /// Changes the state in place; readers wait meanwhile.
    pub(crate) fn update<T>(&self, update: impl FnOnce(&mut VersionedMap) -> T) -> T {
        update(&mut self.0.write())
    }

    /// Replaces the state; returns the old one.
    pub(crate) fn replace(&self, state: VersionedMap) -> VersionedMap {
        std::mem::replace(&mut self.0.write(), state)
    }
}

/// The engine, shared by the driver and its watchers.
pub(crate) struct Engine {
    /// The newest committed state.
    pub(crate) newest: LatestState,
    /// Locked during a commit.
    pub(crate) writer: Mutex<()>,
    /// The recent commits, for watchers.
    pub(crate) recent: RecentCommits,
}

impl Engine {
    /// Creates an engine with an initial state.
    pub(crate) fn new(state: VersionedMap) -> Self {
        Self {
            writer: Mutex::new(()),
            recent: RecentCommits::after(state.version),
            newest: LatestState(RwLock::new(state)),
        }
    }

    /// Makes a state the newest, and notifies the watchers of its changes. The caller holds the writer
    /// lock.
    pub(crate) fn publish(&self, state: VersionedMap, recorder: Recorder) {
        let version = state.version;
        // The old state is dropped outside of the lock.
        drop(self.newest.replace(state));
        self.recent.push(version, recorder);
    }
}
