//! The datastores other than running: candidates, locks, confirmed commits, copies.
//!
//! Random runs are functions of their seed: `ESPALIER_SEED` repeats one, `ESPALIER_OPERATIONS`
//! sets how long it is.

#[path = "../model/edit.rs"]
#[allow(dead_code)]
mod edit;
#[path = "../model/fixture.rs"]
#[allow(dead_code)]
mod fixture;
#[path = "../model/generate.rs"]
#[allow(dead_code)]
mod generate;
#[path = "../model/reference.rs"]
#[allow(dead_code)]
mod reference;

mod candidate;
mod candidate_runs;
mod confirm;
mod copy;
mod load;
mod lock;
mod manual_clock;
mod merge_order;
mod merge_runs;
