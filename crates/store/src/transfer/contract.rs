//! What transfers are told, and what they tell.

use espalier_keyspace::{Driver, Snapshot};

use super::digest::Digest;
use super::marker::Marker;
use crate::error::{Error, Result};

/// What a transfer is doing, and how many rows are done in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Rows are read from the source, and written.
    Copying,
    /// A file is read to its end before anything is written.
    Checking,
    /// The target is read again.
    Verifying,
}

/// Told from time to time: what is being done, and how many rows of it are done.
pub type Progress<'a> = &'a mut dyn FnMut(Phase, u64);

/// What is done with what a target holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is refused, unless the same transfer put it there and was interrupted.
    Refuse,
    /// It is deleted, unless the same transfer put it there and was interrupted.
    Delete,
}

/// A transfer that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// The rows of the source, which are those of the target.
    pub digest: Digest,
    /// Rows that this run wrote or removed; the others were there from an interrupted one.
    pub changed: u64,
    /// Whether an interrupted transfer was gone on with.
    pub is_resumed: bool,
}

/// Refuses what nothing can be copied from: the target of a transfer that has not ended.
///
/// # Errors
/// [`Error::Unfinished`].
pub fn check_source(from: &dyn Driver) -> Result<()> {
    refuse_unfinished(&*from.snapshot()?)
}

/// Refuses a key space that is the target of a transfer that has not ended.
pub(crate) fn refuse_unfinished(snapshot: &dyn Snapshot) -> Result<()> {
    match Marker::read(snapshot)? {
        Some(marker) => Err(Error::Unfinished { from: marker.from }),
        None => Ok(()),
    }
}
