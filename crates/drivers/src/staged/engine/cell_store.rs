//! The interface of an engine for [staged commits](crate::staged::StagedDriver).

use std::time::Duration;

use espalier_keyspace::{Direction, Error, KeyRange, Result};

/// A key and a value of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// The revision that created it.
    pub(crate) created: u64,
    /// The revision that last wrote it.
    pub(crate) modified: u64,
}

/// The size limits of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Maximum number of guards, and of writes.
    pub(crate) operations: usize,
    /// Maximum bytes.
    pub(crate) bytes: usize,
}

/// A read request.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    /// One cell, if it exists.
    One(Vec<u8>),
    /// The first cells of a range, in a direction.
    Some {
        range: KeyRange,
        direction: Direction,
        limit: usize,
    },
}

/// The results of several reads, all at one revision.
pub(crate) struct ReadResult {
    /// The engine's newest revision.
    pub(crate) revision: u64,
    /// The cells found by each read.
    pub(crate) cells: Vec<Vec<Cell>>,
}

/// A condition of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    Absent(Vec<u8>),
    Present(Vec<u8>),
    /// The cell was last written by this revision.
    Modified(Vec<u8>, u64),
    /// The cell has this value.
    Holds(Vec<u8>, Vec<u8>),
    /// The range contains no cell.
    Empty(KeyRange),
}

/// A change of cells. The writes of one transaction must not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(KeyRange),
}

impl Write {
    pub(crate) fn bytes(&self) -> usize {
        // Approximate overhead per write in an engine.
        const OVERHEAD: usize = 32;
        OVERHEAD
            + match self {
                Self::Put(key, value) => key.len() + value.len(),
                Self::Delete(key) => key.len(),
                Self::DeleteRange(range) => {
                    range.start.len() + range.end.as_ref().map_or(0, Vec::len)
                }
            }
    }
}

/// Why a transaction has no result.
pub(crate) enum Failure {
    /// It was not applied.
    NotApplied(Error),
    /// It may have been applied, or may still be.
    OutcomeUnknown(Error),
}

/// An engine that stores cells.
pub(crate) trait CellStore: Send + Sync + 'static {
    fn name(&self) -> &'static str;

    fn bounds(&self) -> Bounds;

    /// Reads at a revision, or at the newest one, which includes everything acknowledged before the call.
    /// The value of the head may be omitted: [`Self::follow`] returns it.
    fn read(&self, reads: &[Read], at: Option<u64>) -> Result<ReadResult>;

    /// Reads at a revision that may be older than the newest, if that is cheaper. The caller tests the
    /// results with [`Self::transact`].
    fn read_possibly_stale(&self, _reads: &[Read]) -> Result<Option<ReadResult>> {
        Ok(None)
    }

    /// Writes if all guards hold, and returns the new revision; `None` if a guard does not hold.
    fn transact(
        &self,
        guards: &[Guard],
        writes: &[Write],
    ) -> std::result::Result<Option<u64>, Failure>;

    /// Follows the later values of the head.
    fn follow(&self, cell: &[u8], after: u64) -> Result<Box<dyn Follow>>;

    /// How long a call is retried.
    fn retry_timeout(&self) -> Duration;
}

/// An event of a followed cell.
#[derive(Debug)]
pub(crate) enum Followed {
    /// It was written.
    Written { value: Vec<u8>, revision: u64 },
    /// Some revisions are no longer available. Follow again from a newer revision.
    Forgotten,
}

/// The later values of a cell.
pub(crate) trait Follow: Send {
    /// Returns the next event, waiting at most `timeout`.
    fn next(&mut self, timeout: Duration) -> Result<Option<Followed>>;
}
