//! The store as a whole: loads, the catalog, several threads, and several stores as in several processes.

mod catalog;
mod constraints;
mod edit_options;
#[path = "../model/fixture.rs"]
#[allow(dead_code)]
mod fixture;
mod lagging_view;
mod load;
mod operations;
mod order;
mod repair;
mod shared_writes;
mod stored_schemas;
mod threads;
mod upgrade;
mod upgrade_fill;
mod upgrade_kinds;
