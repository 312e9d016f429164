//! The check of a collection, and its repair.
//!
//! `examine.rs` finds faults in a snapshot; `repair.rs` repairs each one in a transaction, which verifies the
//! fault before it changes anything.

mod examine;
mod fault;
mod repair;

pub use fault::Finding;
pub use repair::Repaired;
