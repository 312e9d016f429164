//! The scenario of DODB's own bench (`benchmark-cars`): cars are added, and found by index, partition and tag, under
//! four memory policies. The rows are the data of its three graphs.
//!
//! `cars.rs` generates the cars, `run.rs` measures, with `memory.rs`; the figures of DODB are in `data/figures/dodb.toml`.

mod cars;
mod memory;
mod run;

pub use run::{Dodb, run};
