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
//! keys ([`named_state`], [`to_named_keys`]); the merged result gets its positions at the end
//! ([`to_stored_keys`]). In between, such a list is merged like a sorted one, with the position as one more
//! value of an entry. Invariants:
//!
//! 1. An entry has a fragment (or value) if and only if it has a row in the order index: both are always
//!    taken, kept or hidden together ([`resolve`]).
//! 2. The key of an entry, the keys of its content and its row in the order index contain the same
//!    position: all are derived from the position that the entry has by name ([`to_stored_keys`]).
//! 3. No two entries of a list have the same position. If one side moved no entry of a list ([`moves`]),
//!    the entries of the other side keep their order: an entry that the candidate created or moved precedes
//!    its successor in the candidate, and follows what running inserted there ([`positions`]).
//! 4. A change of one side in an entry that the other side moved is applied at the entry's new position.

mod cases;
mod changed_keys;
mod conflict;
mod leaves;
mod merging;
mod moves;
mod named_state;
mod order;
mod partial_base;
mod positions;
mod resolve;
mod row_cursor;
mod running_changes;
mod saved_followers;
mod saved_positions;
mod stamps;
mod to_named_keys;
mod to_stored_keys;
mod unread_deletions;

pub use conflict::{Conflict, ConflictContent, Resolution};

pub(super) use merging::{BaseCoverage, MergeBasis, Merged, merge};
pub(super) use saved_positions::{neighbours, positions_of, saved_base};
