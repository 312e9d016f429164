//! Checks whether the results of several processes on one key space are linearizable.
//!
//! A history is *linearizable* if each operation can be assigned a moment between its call and its return,
//! such that every result is the one of a key space on which the operations are executed one by one in the
//! order of these moments. Users of several processes on one engine expect this: no acknowledged commit is
//! lost, none is applied twice, none is partly visible, and no reader sees an older state than a reader
//! before.
//!
//! - [`search()`] decides it, for any object with a step function, by the algorithm of Wing and Gong with
//!   Lowe's cache of visited states;
//! - [`sequential_model`] is the object: some registers and a counter in one key space, changed and read together;
//! - [`worker`] is a process that works on a key space at random and records its operations;
//! - [`run()`] starts such processes, injects faults into servers, connections and processes ([`Hurt`]),
//!   and checks the records.
//!
//! Existing crates with such a checker accept only complete histories; here processes are killed during
//! operations.

mod record;
mod recorded_history;
mod run;
mod search;
pub mod sequential_model;
pub mod worker;

pub use run::{Hurt, Run, SECONDS_VARIABLE, run};
pub use search::{Object, Operation, Verdict, search};
