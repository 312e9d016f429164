//! Random schemas whose data is hard to validate.
//!
//! A schema is generated as an arena of items (`grow`), then gets references (`references`), and then
//! constraints with XPath expressions over its nodes (`constraints`, `expressions`). It is distributed over
//! several modules (`files`, `placement`): groupings in other modules than their users, a submodule,
//! augments, refinements, deviations, features; `render` writes it as YANG. The result depends only on the
//! random source.
//!
//! The leaves have few possible values, so that values coincide: four words, numbers up to five.
//! `evolution` changes a schema, as new revisions of its modules do.
//!
//! The features that a schema uses are counted by name ([`Features`]), so that a test can check that all
//! were used.
//!
//! Excluded, because RFC 7950 does not define the result: circular `when` conditions, and `when` conditions
//! on nodes of a choice with a default case.

mod consistency;
mod constraints;
mod evolution;
mod expressions;
mod features;
mod files;
mod placement;
mod references;
mod render;
mod shape;
mod skeleton;
mod writer;

pub use evolution::SchemaEdit;
pub use features::{FEATURES, Features};
pub use render::{Conditions, GeneratedSchema, schema};
