//! The datastores other than running: candidates, locks, confirmed commits, copies.
//!
//! Random runs are functions of their seed: `ESPALIER_SEED` repeats one, `ESPALIER_OPERATIONS`
//! sets how long it is.

#[path = "../model/edit.rs"]
#[allow(dead_code)]
mod edit;
#[path = "../model/generate.rs"]
#[allow(dead_code)]
mod generate;
#[path = "../model/reference.rs"]
#[allow(dead_code)]
mod reference;
#[path = "../model/setting.rs"]
#[allow(dead_code)]
mod setting;

mod candidate;
mod candidate_runs;
mod clock;
mod confirm;
mod copy;
mod load;
mod lock;
mod merge_order;
mod merge_runs;
