//! The rows of sysrepo's own bench (`sr_perf`), with the same names and at least the same work.
//!
//! The note of each row describes it. In `sr_perf` only the first repetition of some rows changes anything (remove,
//! modify); here each one does, and removals are reverted outside the measured time. The `peer` of the rows has
//! sysrepo's figures: processor seconds, with its running datastore in shared memory and nothing flushed to a disk;
//! and the figures that it publishes for its plugins.
//!
//! The suite `drivers` has the same rows, on every engine and policy.

mod comparison;
mod fixture;
mod operational;
mod reads;
mod run;
mod writes;

pub use run::{Sysrepo, run};
