//! Series as documents: JSON as Trifle has it, and CSV (RFC 4180).

mod csv;
mod json;

pub use csv::csv;
pub use json::{json, settings_json};
