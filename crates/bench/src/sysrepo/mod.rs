//! The rows of sysrepo's own bench (`sr_perf`), with the same names and at least the same work.
//!
//! What each row does is written beside it. Where only the first try of sysrepo's does anything
//! (remove, modify), every try here does it: what was removed is put back outside the measured
//! time. sysrepo's figures stand beside as `peer`: processor seconds, with its running datastore in
//! shared memory and nothing flushed to a disk. What it publishes for its plugins stands there too.
//!
//! The suite of drivers is the same rows on every engine and policy.

mod comparison;
mod fixture;
mod operational;
mod reads;
mod run;
mod writes;

pub use run::{Sysrepo, run};
