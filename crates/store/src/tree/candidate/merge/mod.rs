//! Three-way merge: applies changes that were made on one version of running to a later one.
//!
//! The base is the version that the candidate was made on; running is the newest version. Only keys that
//! running changed since are examined, so the cost depends on the changes of running, not on the size of
//! the tree. A change of one side is taken, and equal changes of both. The rest are conflicts: a leaf set
//! differently, a node deleted on one side and changed on the other, an entry created or moved by both,
//! nodes of two cases of one choice.
//!
//! Entries of lists ordered by user are identified by their list keys, not by their positions. If either
//! side changed positions, all three states are read, and the candidate's changes are written, by *named*
//! keys ([`named`], [`naming`]); the merged result gets its positions at the end ([`placing`]). In between,
//! such a list is merged like a sorted one, with the position as one more value of an entry. Invariants:
//!
//! 1. An entry has a fragment (or value) if and only if it has a row in the order index: both are always
//!    taken, kept or hidden together ([`resolve`]).
//!
//! 2. The key of an entry, the keys of its content and its row in the order index contain the same
//!    position: all are derived from the position that the entry has by name ([`placing`]).
//!
//! 3. No two entries of a list have the same position. If one side moved no entry of a list ([`moves`]),
//!    the entries of the other side keep their order: an entry that the candidate created or moved precedes
//!    its successor in the candidate, and follows what running inserted there ([`seats`]).
//!
//! 4. A change of one side in an entry that the other side moved is applied at the entry's new position.

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
