//! The state of the memory engine: keys and values, and their version.

use espalier_keyspace::{ByteMap, Version};
use parking_lot::{Mutex, RwLock};

use crate::recent_commits::{RecentCommits, Recorder};

/// A committed state. A clone takes constant time.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) version: Version,
    pub(crate) map: ByteMap,
}

/// The newest state of an engine or a view.
#[derive(Default)]
pub(crate) struct Newest(RwLock<State>);

impl Newest {
    /// It, to be kept.
    pub(crate) fn get(&self) -> State {
        self.0.read().clone()
    }

    /// Its version.
    pub(crate) fn version(&self) -> Version {
        self.0.read().version
    }

    /// Looks at it. Whoever changes it waits meanwhile.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.read())
    }

    /// Changes it where it is; readers wait meanwhile.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.write())
    }

    /// Makes another state the newest, and returns the one before.
    pub(crate) fn replace(&self, state: State) -> State {
        std::mem::replace(&mut self.0.write(), state)
    }
}

/// The engine, shared by the driver and its watchers.
pub(crate) struct Engine {
    /// The newest committed state.
    pub(crate) newest: Newest,
    /// Held by the one who commits.
    pub(crate) writer: Mutex<()>,
    /// The newest commits, for watchers.
    pub(crate) recent: RecentCommits,
}

impl Engine {
    /// An engine that begins with a state.
    pub(crate) fn new(state: State) -> Self {
        Self {
            writer: Mutex::new(()),
            recent: RecentCommits::after(state.version),
            newest: Newest(RwLock::new(state)),
        }
    }

    /// Makes a state the newest, and tells the watchers what led to it. To be called by the one who
    /// commits.
    pub(crate) fn publish(&self, state: State, recorder: Recorder) {
        let version = state.version;
        // Nobody waits while what only the state before had is let go.
        drop(self.newest.replace(state));
        self.recent.push(version, recorder);
    }
}
