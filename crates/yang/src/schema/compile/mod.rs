//! Compiles modules into a [`Schema`](crate::schema::Schema).
//!
//! - `ffi`: libyang, which reads and compiles the modules; the only unsafe code of the crate.
//! - `texts`: where libyang gets the texts from.
//! - `patterns`: patterns that libyang refuses and Espalier knows.
//! - `failures`: every error of a set of modules, of which libyang reports the first.
//! - `tree`, `types`, `modules`: the walks over what libyang compiled, which copy it.
//! - `descents`: `//name` in constraints, written out; `existence`: conditions that are comparisons.
//! - `error`, `locate`: what is wrong with a model, and where.
//!
//! A libyang context lives as long as one compilation. Keeping it, and looking at it through views,
//! was refused: it would tie every reader of the schema to C, its locks and its lifetimes.

mod descents;
mod error;
mod existence;
mod failures;
mod ffi;
mod locate;
mod modules;
mod patterns;
mod run;
mod texts;
mod tree;
mod types;
mod unique;

pub use error::{SchemaError, SchemaErrors};
