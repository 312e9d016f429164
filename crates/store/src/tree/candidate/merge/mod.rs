//! Three-way merging: changes that were made on one version of running, on a later one.
//!
//! The base is what the candidate was made on, running what is there now. Only keys that running
//! changed since are looked at, so the cost is that of what running changed, not of either tree.
//! What one side alone changed is taken; what both changed alike too. The rest are conflicts: a leaf
//! set differently, a node deleted on one side and changed on the other, an entry created or moved
//! by both, nodes of two cases of one choice.
//!
//! Entries of lists ordered by user are told by their keys, not by their positions: where both
//! sides gave a position to different entries, that of the candidate goes behind.

mod cases;
mod changed;
mod conflict;
mod gaps;
mod keys;
mod leaves;
mod order;
mod resolve;
mod run;

pub use conflict::{Conflict, Held, Resolution};

pub(super) use run::{Basis, Known, Merged, merge};
