//! Test support: executable contracts and fixtures. Everything here panics on failure.
//!
//! - [`conformance`]: the contract of key space drivers, one case per rule;
//! - [`adding`]: threads that increment a counter while faults occur;
//! - [`counting`]: two processes that increment one counter;
//! - [`model`]: random operations on a driver, compared with a map;
//! - [`crash`]: a process that is killed during commits, and the state that it leaves;
//! - [`disk`]: temporary file systems, full or read-only;
//! - [`linearizability`]: several processes on one engine while faults occur, and a check of their results;
//! - [`fault`]: a wrapper for drivers that injects faults;
//! - [`rows`]: the content of an engine;
//! - [`servers`]: Redis and others, started and stopped by the tests;
//! - `oracle`: random documents of a schema, valid and invalid, and the results of libyang for them;
//! - `validation`: random schemas with many constraints (both with the feature `models`).

pub mod conformance;
pub mod crash;
pub mod disk;
pub mod fault;
pub mod linearizability;
#[cfg(feature = "models")]
pub mod oracle;
pub mod process;
pub mod processes_on_counter;
pub mod random_operations;
#[cfg(feature = "models")]
pub mod random_schemas;
pub mod rows;
pub mod seed;
pub mod servers;
pub mod threads_on_counter;
