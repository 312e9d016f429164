//! Three-way merging: changes that were made on one version of running, on a later one.
//!
//! The base is what the candidate was made on, running what is there now. Only keys that running
//! changed since are looked at, so the cost is that of what running changed, not of either tree.
//! What one side alone changed is taken; what both changed alike too. The rest are conflicts: a leaf
//! set differently, a node deleted on one side and changed on the other, an entry created or moved
//! by both, nodes of two cases of one choice.
//!
//! Entries of lists ordered by user are told by their list keys, not by their positions. Where
//! either side changed positions, all three states are read, and the changes of the candidate written,
//! under *named* keys ([`named`], [`naming`]), and what the merge comes to gets its positions at the
//! end ([`placing`]). In between, such a list is merged as a sorted one is, and the position is one
//! more thing that an entry has. What that gives, whatever both sides did:
//!
//! 1. An entry has a fragment (or value) if and only if it has a row in the order index: what takes
//!    the one, takes, leaves or hides the other ([`resolve`]).
//! 2. The key of an entry, the keys of all that is in it and its row of the order index hold the same
//!    position: all are made from the one that the entry has by name ([`placing`]).
//! 3. No two entries of a list have the same position, and where one side moved no entry of a list
//!    ([`moves`]), what is of the other side keeps its order: an entry that the candidate created or
//!    moved stands before the one that it stood before, behind what running put there ([`seats`]).
//! 4. What one side changed in an entry that the other moved is found in it where it is now.

mod cases;
mod changed;
mod conflict;
mod doubtful;
mod gaps;
mod keys;
mod leaves;
mod moves;
mod named;
mod naming;
mod order;
mod places;
mod placing;
mod resolve;
mod rows;
mod run;
mod seats;
mod stamps;

pub use conflict::{Conflict, Held, Resolution};

pub(super) use places::{apart, neighbours, places};
pub(super) use run::{Basis, Known, Merged, merge};
