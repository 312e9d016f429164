//! Locks (RFC 6241 §7.5) and partial locks (RFC 5717) of a datastore.
//!
//! All locks of a datastore are one row of the key space. Every commit reads it and requires that it is
//! unchanged, so a lock applies to every process that uses the store, at the cost of one read. A lock
//! belongs to a session, which is only a name: the server must report the end of a session
//! ([`crate::Store::end_session`]).

mod acquire;
mod check;
mod record;
mod release;
mod session;

pub use record::{Lock, Locks, PartialLock, PendingCommit, TimeoutStart};

pub(in crate::tree) use check::NONE_PINNED;
pub(in crate::tree) use record::LockRecord;
