//! Commits compared with libyang: random schemas full of constraints, random edits, and after each edit the
//! verdict of the store, its full validation, and libyang's verdict on the whole tree.
//!
//! Every run is a function of its seed: `ESPALIER_SEED` repeats one, `ESPALIER_EDITS` sets the number of
//! edits. `differences` lists the differences between libyang and RFC 7950.

#[path = "../model/edit.rs"]
mod edit;
#[path = "../model/reference.rs"]
#[allow(dead_code)]
mod reference;

mod candidate_after_running;
mod compare;
mod differences;
mod documents;
mod edits;
mod effort;
mod evolution;
mod fixture;
mod generator;
mod groupings;
mod mounted_runs;
mod mounts;
mod regressions;
mod run;
mod shrink;
mod upgrades;
