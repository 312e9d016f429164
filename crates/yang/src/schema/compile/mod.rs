//! Compiles modules into a [`Schema`](crate::schema::Schema).
//!
//! - `ffi`: libyang, which reads and compiles the modules; the only unsafe code of the crate.
//! - `texts`: provides the module texts to libyang.
//! - `patterns`: replaces patterns that libyang rejects but Espalier supports.
//! - `failures`: collects all errors of a set of modules; libyang reports only the first.
//! - `tree`, `types`, `modules`: copy the schema that libyang compiled.
//! - `expand_descendants`: expands `//name` in constraints; `rewrite_conditions`: rewrites existence conditions to comparisons.
//! - `mount`: adds mounted schemas (RFC 8528) at their mount points.
//! - `size`: bounds the number of nodes before groupings are expanded.
//! - `error`, `locate`: the errors of models, with their positions.
//!
//! A libyang context lives as long as one compilation. Keeping it, and reading it through views, was rejected: it would
//! tie every reader of the schema to C, its locks and its lifetimes.

mod error;
mod expand_descendants;
mod failures;
mod ffi;
mod locate;
mod modules;
mod mount;
mod patterns;
mod rewrite_conditions;
mod run;
mod size;
mod texts;
mod tree;
mod types;
mod unique;

pub use error::{SchemaError, SchemaErrors};
pub use size::{SCHEMA_NODES_MAX, UNION_MEMBERS_MAX};
