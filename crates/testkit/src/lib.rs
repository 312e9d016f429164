//! What correct means, executable. For tests only: everything here panics when it is not so.
//!
//! - [`conformance`]: what every driver of a key space does, case by case;
//! - [`adding`]: threads that count while something is hurt;
//! - [`counting`]: two processes that count together;
//! - [`model`]: random operations on a driver, compared with a map;
//! - [`crash`]: a process that is killed while it commits, and what it leaves;
//! - [`disk`]: file systems of their own, full or only to be read;
//! - [`linearizability`]: processes on one engine, while it and they are hurt, and whether what they
//!   saw can be;
//! - [`fault`]: a driver that fails when told to, over any other;
//! - [`rows`]: what an engine holds;
//! - [`servers`]: Redis and others, started and stopped by the tests themselves;
//! - `oracle`: random documents of a schema, valid and broken, and libyang's verdict on them;
//! - `validation`: random schemas full of constraints (both with the feature `models`).

pub mod adding;
pub mod conformance;
pub mod counting;
pub mod crash;
pub mod disk;
pub mod fault;
pub mod linearizability;
pub mod model;
#[cfg(feature = "models")]
pub mod oracle;
pub mod process;
pub mod rows;
pub mod seed;
pub mod servers;
#[cfg(feature = "models")]
pub mod validation;
