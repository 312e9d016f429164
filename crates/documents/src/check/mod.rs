//! Examining a collection, and mending it.
//!
//! `examine.rs` finds faults in a snapshot; `repair.rs` mends each in a transaction, which looks
//! again before it changes anything.

mod examine;
mod fault;
mod repair;

pub use fault::Finding;
pub use repair::Repaired;
