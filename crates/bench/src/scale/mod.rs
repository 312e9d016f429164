//! The growth of operations on one entry with the size of their list.
//!
//! For each size: load, read, change, page and delete, on the store and on the raw engine; then the ratio of each
//! one-entry row between the smallest and the largest size.

mod fixture;
mod rows;
mod run;

pub use fixture::Fixture;
pub use run::{Scale, run};
