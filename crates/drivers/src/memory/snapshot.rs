//! Snapshots of the memory engine.

use std::borrow::Cow;

use espalier_keyspace::{ByteMap, Cursor, Direction, KeyRange, Result, Snapshot, Version};

use super::engine::VersionedMap;

/// A snapshot of a committed state.
pub(crate) struct MemorySnapshot {
    state: VersionedMap,
}

impl MemorySnapshot {
    pub(crate) fn new(state: VersionedMap) -> Self {
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

/// The state of a write in progress.
pub(super) struct WriterSnapshot<'a> {
    /// The version before the write.
    pub(super) base_version: Version,
    pub(super) map: &'a ByteMap,
}

impl Snapshot for WriterSnapshot<'_> {
    fn version(&self) -> Version {
        self.base_version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.map.get(key).map(Cow::Borrowed))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(self.map.scan(range, direction)))
    }
}
