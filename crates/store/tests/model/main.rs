//! The store compared with a naive model: a tree of vectors.
//!
//! Every run is a function of its seed: `ESPALIER_SEED` repeats one, `ESPALIER_OPERATIONS` sets how
//! many commits it has.

mod access;
mod canonical;
mod edit;
mod filter;
mod filter_changes;
mod filter_cost;
mod filter_reference;
mod filter_rules;
mod fixture;
mod generate;
mod hand_edits;
mod history;
mod random_runs;
mod reference;
mod regressions;
mod select;
mod stamps;
