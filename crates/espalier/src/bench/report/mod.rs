//! What is made of all rows at the end: a report for people, and a comparison with earlier rows.

mod baseline;
mod html;
mod plot;
mod published;

pub use baseline::Baseline;
pub use html::page;
