//! The check of a collection, and its repair.
//!
//! `find_faults.rs` finds faults in a snapshot; `repair.rs` repairs each one in a transaction, which verifies the
//! fault before it changes anything.

mod fault;
mod find_faults;
mod repair;

pub use fault::Finding;
pub use repair::RepairReport;
