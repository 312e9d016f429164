//! The in-memory engine: the newest state, and applying batches to it.

mod apply;
mod state;

pub(crate) use apply::apply;
pub(crate) use state::{Engine, LatestState, VersionedMap};
