//! Locks (RFC 6241 §7.5) and partial locks (RFC 5717) of a datastore.
//!
//! What holds a datastore is one row of the key space. Every commit reads it and requires that it
//! did not change, so a lock counts for every process that uses the store, at the price of one read.
//! A lock belongs to a session, which is a name; nothing is known of the session otherwise, so who
//! ends a session says so ([`crate::Store::end_session`]).

mod acquire;
mod check;
mod holds;
mod release;
mod session;

pub use holds::{Lock, Locks, PartialLock, PendingCommit, Timing};

pub(in crate::tree) use check::NONE_PINNED;
pub(in crate::tree) use holds::Holds;
