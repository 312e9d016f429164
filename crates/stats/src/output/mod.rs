//! Output formats of series: JSON in the format of Trifle, and CSV (RFC 4180).

mod csv;
mod json;

pub use csv::csv;
pub use json::{json, settings_json};
