//! What commands work on: a store that this process opens, or a server.
//!
//! Commands see [`Target`] only, so each works the same on both.

mod contract;
mod local;
mod open;
mod remote;
mod remote_error;

pub use contract::{Change, Changed, Loaded, Read, Target, Upload};
pub use local::{annotated_tree, open_store, open_tree, source_of};
pub use open::open;
pub use remote::{EDIT_PATH, SCHEMA_PATH};
