//! Diffs, earlier states and rollbacks, compared with every state of a naive model.
//!
//! Every run is a function of its seed: `ESPALIER_SEED` repeats one, `ESPALIER_OPERATIONS` sets how
//! many commits it has.

#[allow(dead_code)]
#[path = "../model/edit.rs"]
mod edit;
#[allow(dead_code)]
#[path = "../model/fixture.rs"]
mod fixture;
#[allow(dead_code)]
#[path = "../model/generate.rs"]
mod generate;
#[allow(dead_code)]
#[path = "../model/reference.rs"]
mod reference;
#[allow(dead_code)]
#[path = "../model/stamps.rs"]
mod stamps;

mod apply;
mod changes;
mod constraints;
mod cost;
mod prefetch;
mod random_runs;
mod retention;
