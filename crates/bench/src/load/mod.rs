//! The suite `load`: many clients over HTTP against a server process.

mod clients;
mod connection;
mod grouped;
mod measured;
mod run;
mod server_process;
mod trend;
mod workload;

pub use run::{Load, run};
pub use workload::Choice;
