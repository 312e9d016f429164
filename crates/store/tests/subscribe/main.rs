//! Subscriptions: which commits a subscriber is notified of, in which order, and what it may do.

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

mod events;
mod in_commit;
mod random_runs;
