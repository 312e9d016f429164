//! The engine in memory: a map, and which state is the newest.

mod state;

pub(crate) use state::{Engine, Newest, State};
