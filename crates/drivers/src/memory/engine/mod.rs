//! The engine in memory: an immutable tree, and which one is the newest.

mod state;

pub(in crate::memory) use state::Engine;
pub(crate) use state::{State, Tree, bounds};
