//! Bulk load: loads a document of any size in one atomic commit, in bounded memory.
//!
//! Events become fragments as soon as the keys of the enclosing entries are complete, and are written
//! directly to the engine. Content of a list entry before its keys (members of a JSON object are unordered)
//! is deferred, up to [`deferred::DEFERRED_BYTES_MAX`].

mod commit;
mod deferred;
mod fragments;
mod identical;
mod options;
mod sink;

pub use options::{LoadMode, LoadOptions, LoadReport};

pub(in crate::tree) use sink::Loader;
