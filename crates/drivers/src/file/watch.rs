//! Watches of the file engine: no other process can change it, so all events come from the ring of recent
//! commits.

use std::sync::Arc;

use espalier_keyspace::{KeyRange, Version, Watch};

use super::engine::Engine;
use crate::memory::MemoryWatch;

/// The commits after `after` that touch `range`.
pub(super) fn watch(engine: &Engine, range: KeyRange, after: Version) -> Box<dyn Watch> {
    let in_memory = Arc::clone(&engine.in_memory);
    Box::new(MemoryWatch::new(in_memory, range, after))
}
