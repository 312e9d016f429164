//! The suites of `espalier bench`.
//!
//! Every suite measures with [`harness`], emits [`row::Row`]s (one format for all of them), and checks every result
//! that it times. Each figure is compared with the raw engine doing the same reads and writes: [`recorder`] records
//! the calls of the store to its driver, [`raw`] replays them on the engine's own client. Figures of other systems,
//! explanations of rows and targets are data, in the folder `data`.

mod clixon;
mod command;
mod configuration;
mod core_pin;
mod cps;
mod dataset;
mod dodb;
mod engine;
mod field;
mod figures;
mod generated_document;
mod harness;
mod http;
mod load;
mod memory;
mod model_store;
mod netconf;
mod output;
mod processes;
mod raw;
mod recorder;
mod report;
mod row;
mod row_with_raw;
mod scale;
mod sysrepo;
mod telemetry;
mod trifle;
mod xpath_query;

pub use command::Bench;
