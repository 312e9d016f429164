//! What an engine has to have for [`Staged`](crate::staged::Staged) commits.

use std::time::Duration;

use espalier_keyspace::{Direction, Error, KeyRange, Result, WatchKind};

/// A key and a value of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// The revision that made it.
    pub(crate) created: u64,
    /// The revision that wrote it last.
    pub(crate) modified: u64,
}

/// How much one transaction may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Tests, and as many writes.
    pub(crate) operations: usize,
    /// Bytes of all.
    pub(crate) bytes: usize,
}

/// A question.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    /// One cell, if it is there.
    One(Vec<u8>),
    /// The first cells of a range in a direction.
    Some {
        range: KeyRange,
        direction: Direction,
        limit: usize,
    },
}

/// The answers to some questions, all at one revision.
pub(crate) struct Found {
    /// The engine's newest revision.
    pub(crate) revision: u64,
    /// The cells that each question found.
    pub(crate) cells: Vec<Vec<Cell>>,
}

/// What must hold for a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    Absent(Vec<u8>),
    Present(Vec<u8>),
    /// The cell was last written by this revision.
    Modified(Vec<u8>, u64),
    /// The cell has this value.
    Holds(Vec<u8>, Vec<u8>),
    /// There is no cell in the range.
    Empty(KeyRange),
}

/// A change of cells. Those of one transaction must not touch the same cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(KeyRange),
}

impl Write {
    pub(crate) fn bytes(&self) -> usize {
        // What an engine adds to each, about.
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

/// Why a transaction has no answer.
pub(crate) enum Failure {
    /// It did not happen.
    Refused(Error),
    /// Nobody knows whether it happened, or will.
    Lost(Error),
}

/// An engine of cells.
pub(crate) trait Cells: Send + Sync + 'static {
    fn name(&self) -> &'static str;

    fn bounds(&self) -> Bounds;

    /// Answers at a revision, or at the newest one, which shows everything that was acknowledged
    /// before the call. The value of the head may be left out: [`Self::follow`] tells it.
    fn read(&self, reads: &[Read], at: Option<u64>) -> Result<Found>;

    /// Answers at a revision that may be a little older than the newest one, where that is cheaper:
    /// for whoever has what it finds tested by [`Self::transact`].
    fn read_lately(&self, _reads: &[Read]) -> Result<Option<Found>> {
        Ok(None)
    }

    /// Writes if all guards hold, and tells the revision that did; `None` where one does not.
    fn transact(
        &self,
        guards: &[Guard],
        writes: &[Write],
    ) -> std::result::Result<Option<u64>, Failure>;

    /// Every later value of the head.
    fn follow(&self, cell: &[u8], after: u64) -> Result<Box<dyn Follow>>;

    /// How [`Self::follow`] learns of them.
    fn watch_kind(&self) -> WatchKind {
        WatchKind::Push
    }

    /// How long a call may try.
    fn patience(&self) -> Duration;
}

/// What became of a followed cell.
#[derive(Debug)]
pub(crate) enum Followed {
    /// It was written.
    Written { value: Vec<u8>, revision: u64 },
    /// Some of its past is not kept any more. Follow it again from a newer revision.
    Forgotten,
}

/// The later values of a cell.
pub(crate) trait Follow: Send {
    /// The next one, waiting at most so long.
    fn next(&mut self, timeout: Duration) -> Result<Option<Followed>>;
}
