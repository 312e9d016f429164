//! The scenario of DODB's own bench (`benchmark-cars`): cars are added, and found by index,
//! partition and tag, under four memory policies. The rows are the data of its three graphs.
//!
//! `cars.rs` makes the cars, `known.rs` has the figures of others, `run.rs` measures.

mod cars;
mod run;

pub use run::{Dodb, run};
