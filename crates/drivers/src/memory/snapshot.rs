//! Snapshots of the memory engine.

use std::borrow::Cow;

use espalier_keyspace::{ByteMap, Cursor, Direction, KeyRange, Result, Snapshot, Version};

use super::engine::State;

/// A committed state, held.
pub(crate) struct MemorySnapshot {
    state: State,
}

impl MemorySnapshot {
    pub(crate) fn new(state: State) -> Self {
        Self { state }
    }
}

impl Snapshot for MemorySnapshot {
    fn version(&self) -> Version {
        self.state.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.state.map.get(key).map(Cow::Borrowed))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(self.state.map.scan(range, direction)))
    }
}

/// A state that is being written.
pub(super) struct UnfinishedSnapshot<'a> {
    /// The version of the state that the write began with.
    pub(super) before: Version,
    pub(super) map: &'a ByteMap,
}

impl Snapshot for UnfinishedSnapshot<'_> {
    fn version(&self) -> Version {
        self.before
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.map.get(key).map(Cow::Borrowed))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(self.map.scan(range, direction)))
    }
}
