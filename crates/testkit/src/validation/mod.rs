//! Random schemas whose data is hard to validate.
//!
//! A schema is grown as an arena of items (`grow`), then given references (`references`), and then
//! constraints with XPath expressions over what there is (`constraints`, `expressions`). It is spread
//! over several modules (`files`, `placement`): groupings in other modules than those that use them, a
//! submodule, augments, refinements, deviations, features; `render` writes it as YANG. It is a function
//! of the random source alone.
//!
//! The domains of the leaves are small, so that values meet: words out of four, numbers to five.
//! `evolution` changes a schema, as new revisions of its modules do.
//!
//! What a schema uses is counted by name ([`Features`]), so that a test can tell that everything
//! was met.
//!
//! What is left out, because RFC 7950 does not say what should happen: `when` conditions that
//! depend on one another in a circle, and those on nodes of a choice with a default case.

mod constraints;
mod evolution;
mod expressions;
mod features;
mod files;
mod grow;
mod placement;
mod references;
mod render;
mod shape;
mod upkeep;
mod writer;

pub use evolution::SchemaEdit;
pub use features::{FEATURES, Features};
pub use render::{Conditions, GeneratedSchema, schema};
