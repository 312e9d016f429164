//! Watching the file engine: nobody else can change it, so the ring of recent commits tells all.

use std::sync::Arc;

use espalier_keyspace::{KeyRange, Version, Watch};

use super::engine::Engine;
use crate::memory::MemoryWatch;

/// The commits after `after` that touch `range`.
pub(super) fn watch(engine: &Engine, range: KeyRange, after: Version) -> Box<dyn Watch> {
    let resident = Arc::clone(&engine.resident);
    Box::new(MemoryWatch::new(resident, range, after))
}
