//! Test support: executable contracts and fixtures. Everything here panics on failure.
//!
//! - [`conformance`]: the contract of key space drivers, one case per rule;
//! - [`threads_on_counter`]: threads that increment a counter while faults occur;
//! - [`processes_on_counter`]: two processes that increment one counter;
//! - [`random_operations`]: random operations on a driver, compared with a map;
//! - [`crash`]: a process that is killed during commits, and the state that it leaves;
//! - [`disk`]: temporary file systems, full or read-only;
//! - [`linearizability`]: several processes on one engine while faults occur, and a check of their results;
//! - [`everywhere`]: one table of operations for every front end;
//! - [`fault`]: a wrapper for drivers that injects faults;
//! - [`rows`]: the content of an engine;
//! - [`servers`]: Redis and others, started and stopped by the tests;
//! - `documents`: documents of a datastore, from their texts;
//! - `oracle`: random documents of a schema, valid and invalid, and the results of libyang for them;
//! - `random_schemas`: random schemas with many constraints (these three with the feature `models`).

pub mod conformance;
pub mod crash;
pub mod disk;
#[cfg(feature = "models")]
pub mod documents;
pub mod everywhere;
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
