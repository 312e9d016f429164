//! `policy=ram`: the engine is read once, when it is opened. After that, all data is in the memory of the
//! process and lost at its end; the engine is never written.

use std::sync::Arc;

use espalier_keyspace::{Driver, Result};

use super::memory_map::load_state;
use crate::memory::Memory;

pub(super) fn open(engine: &dyn Driver) -> Result<Arc<dyn Driver>> {
    let state = load_state(engine)?;
    Ok(Arc::new(Memory::loaded_from(engine.name(), state)))
}
