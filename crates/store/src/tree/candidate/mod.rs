//! Candidates: uncommitted changes of running (RFC 6241 §8.3, RFC 8342 §5.1.2).
//!
//! A candidate is stored as its changes, key by key, with deleted ranges as ranges, and is read as these
//! changes over the newest running. Creating one costs nothing; editing, discarding and committing cost
//! what changed. A copy of running instead would be slow to create and would not show afterwards what the
//! user changed.
//!
//! The changes are based on one version of running, their base. If running has changed since, they are
//! [merged](merge) leaf by leaf. Different changes of the same node are a [`Conflict`]: reads return the
//! candidate's value, and validation and commit fail until it is resolved with [`crate::Tree::update`].

mod cache;
mod commit;
mod edit;
mod fold;
mod header;
mod merge;
mod read;
mod rows;
mod upgrade;

pub use merge::{Conflict, ConflictContent, Resolution};

pub(crate) use cache::CandidateCache;
pub(in crate::tree) use upgrade::CandidateState;
