//! Bulk load: loads a document of any size in one atomic commit, in bounded memory.
//!
//! Events become fragments as soon as the keys of the enclosing entries are complete, and are written
//! directly to the engine. Content of a list entry before its keys (members of a JSON object are unordered)
//! is deferred, up to [`hold::HELD_BYTES_MAX`].

mod fragments;
mod hold;
mod options;
mod run;
mod sink;

pub use options::{LoadMode, LoadOptions, LoadReport};

pub(in crate::tree) use sink::Loading;
