//! Snapshots of the file engine: those of the memory engine, as all data is in memory.

use espalier_keyspace::Snapshot;

use super::engine::Engine;
use crate::memory::MemorySnapshot;

/// The newest committed state.
pub(super) fn snapshot(engine: &Engine) -> Box<dyn Snapshot + Send> {
    Box::new(MemorySnapshot::new(engine.in_memory.newest.get()))
}
