//! Random schemas whose data is hard to validate.
//!
//! A schema is grown as an arena of items (`grow`), then given references (`references`), and then
//! constraints with XPath expressions over what there is (`constraints`, `expressions`); `render`
//! writes it as YANG. It is a function of the random source alone.
//!
//! The domains of the leaves are small, so that values meet: words out of four, numbers to five.
//! What a schema uses is counted by name ([`Features`]), so that a test can tell that everything
//! was met.
//!
//! What is left out, because RFC 7950 does not say what should happen: `when` conditions that
//! depend on one another in a circle, and those on nodes of a choice with a default case.

mod constraints;
mod expressions;
mod features;
mod grow;
mod references;
mod render;
mod shape;

pub use features::{FEATURES, Features};
pub use render::{Conditions, GeneratedSchema, schema};
