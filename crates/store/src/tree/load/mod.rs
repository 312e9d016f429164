//! Bulk load: a document of any size into one atomic commit, in bounded memory.
//!
//! Events become fragments as soon as the keys of the entries around them are known, and go
//! straight to the engine. What stands in a list entry before its keys (members of a JSON object
//! have no order) is held back, up to [`hold::HELD_BYTES_MAX`].

mod fragments;
mod hold;
mod options;
mod run;
mod sink;

pub use options::{LoadMode, LoadOptions, LoadReport};

pub(in crate::tree) use sink::Loading;
