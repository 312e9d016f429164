//! Connections, document names, the chain of commits, the tree of pages, and pruning.

mod client;
mod commit_chain;
mod connection;
mod error;
mod fields;
mod names;
mod open;
mod pages;
mod prune;
mod readable;
mod request;
mod tls_failures;
mod tree;

pub(in crate::mongo) use commit_chain::{Commit, CommittedState, Observation, TURN_MAX};
pub(in crate::mongo) use connection::{Inserted, WriteConcern};
pub(in crate::mongo) use error::RequestFailure;
pub use names::VERSION_MAX;
pub(in crate::mongo) use names::version_text;
pub(in crate::mongo) use open::{Engine, exists};
pub use pages::CACHE_BYTES;
pub(in crate::mongo) use pages::{PageReader, PageWriter};
pub(in crate::mongo) use tree::{Edits, Overlay, PageSink, Tree};
