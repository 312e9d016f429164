//! Connections, names, the chain of commits and the tree: all that only this driver needs.

mod asking;
mod chain;
mod client;
mod connection;
mod distrust;
mod error;
mod fields;
mod names;
mod open;
mod pages;
mod prune;
mod readable;
mod tree;

pub(in crate::mongo) use chain::{Commit, Sight, State, TURN_MAX};
pub(in crate::mongo) use connection::{Inserted, Sure};
pub(in crate::mongo) use error::Trouble;
pub use names::VERSION_MAX;
pub(in crate::mongo) use names::version_text;
pub(in crate::mongo) use open::{Engine, exists};
pub use pages::CACHE_BYTES;
pub(in crate::mongo) use pages::{NewPages, PagesOf};
pub(in crate::mongo) use tree::{Edits, Make, Overlay, Tree};
