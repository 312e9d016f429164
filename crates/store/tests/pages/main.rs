//! Pages of lists and leaf-lists (draft-ietf-netconf-list-pagination).
//!
//! Random runs compare with a naive model: all entries in a vector, filtered, sorted, reversed and cut. A run is a function
//! of its seed: `ESPALIER_SEED` repeats one.

mod cost;
mod fixture;
mod naive;
mod random_runs;
mod rules;
mod sublists;
