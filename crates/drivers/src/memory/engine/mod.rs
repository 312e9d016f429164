//! The engine in memory: a map, and which state is the newest.

mod apply;
mod state;

pub(crate) use apply::apply;
pub(crate) use state::{Engine, Newest, State};
