//! The engine in memory: an immutable tree, and which one is the newest.

mod state;

pub(crate) use state::{Engine, State, Tree, bounds};
