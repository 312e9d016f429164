//! Subscriptions: who is told of which commits, in which order, and what they may do.

#[allow(dead_code)]
#[path = "../model/edit.rs"]
mod edit;
#[allow(dead_code)]
#[path = "../model/generate.rs"]
mod generate;
#[allow(dead_code)]
#[path = "../model/reference.rs"]
mod reference;
#[allow(dead_code)]
#[path = "../model/setting.rs"]
mod setting;

mod events;
mod in_commit;
mod random_runs;
