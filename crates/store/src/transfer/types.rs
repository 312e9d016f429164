//! The options, progress and result types of transfers.

use espalier_keyspace::{Driver, Snapshot};

use super::digest::Digest;
use super::marker::Marker;
use crate::error::{Error, Result};

/// The phase of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Rows are read from the source and written to the target.
    Copying,
    /// A backup file is read to its end before anything is written.
    Checking,
    /// The target is read back and compared.
    Verifying,
}

/// Called from time to time with the current phase and the number of rows done in it.
pub type Progress<'a> = &'a mut dyn FnMut(Phase, u64);

/// What to do with existing rows of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingRows {
    /// The transfer is rejected, unless the rows are from an interrupted run of the same transfer.
    Reject,
    /// The rows are deleted, unless they are from an interrupted run of the same transfer.
    Delete,
}

/// The result of a complete transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferReport {
    /// The digest of the rows of the source, and so of the target.
    pub digest: Digest,
    /// Rows that this run wrote or removed; the others were written by an interrupted run.
    pub changed: u64,
    /// Whether this run resumed an interrupted transfer.
    pub is_resumed: bool,
}

/// Rejects a source that is itself the target of an unfinished transfer.
///
/// # Errors
/// [`Error::Unfinished`].
pub fn check_source(from: &dyn Driver) -> Result<()> {
    reject_unfinished(&*from.snapshot()?)
}

/// Rejects a key space that is the target of an unfinished transfer.
pub(crate) fn reject_unfinished(snapshot: &dyn Snapshot) -> Result<()> {
    match Marker::read(snapshot)? {
        Some(marker) => Err(Error::Unfinished { from: marker.from }),
        None => Ok(()),
    }
}
