//! Snapshots and cursors: LMDB read transactions and cursors, merged with the rows that are only in the
//! journal.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::{ByteMap, Cursor, Direction, KeyRange, Result, Snapshot, Version};
use heed::types::Bytes;
use heed::{AnyTls, RoRange, RoRevRange, RoTxn, RwTxn};

use super::engine::{Base, Engine, Over, Reading, Run, get, out_of_order};

/// A snapshot of a committed state. Fields are dropped in order: the transaction ends before the engine is
/// released.
pub(super) struct EmbeddedSnapshot {
    reading: Reading,
    _engine: Arc<Engine>,
}

impl EmbeddedSnapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Self {
            reading: engine.begin_read()?,
            _engine: Arc::clone(engine),
        })
    }

    fn source(&self) -> Source<'_> {
        let [newest, frozen] = self.reading.layers.rows();
        Source {
            txn: &self.reading.txn,
            base: self.reading.inside.base(),
            layers: [None, newest, frozen],
        }
    }
}

impl Snapshot for EmbeddedSnapshot {
    fn version(&self) -> Version {
        self.reading.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.source().get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.source().scan(range, direction)
    }
}

/// The state of an LMDB transaction in progress.
pub(super) struct UnfinishedSnapshot<'a> {
    pub(super) txn: &'a RwTxn<'a>,
    pub(super) base: &'a Base,
    /// The version before the transaction.
    pub(super) version: Version,
}

impl UnfinishedSnapshot<'_> {
    fn source(&self) -> Source<'_> {
        Source {
            txn: self.txn,
            base: self.base,
            layers: [None; 3],
        }
    }
}

impl Snapshot for UnfinishedSnapshot<'_> {
    fn version(&self) -> Version {
        self.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.source().get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.source().scan(range, direction)
    }
}

/// The source of reads: a transaction of either kind, and rows that LMDB does not have yet.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) txn: &'a RoTxn<'a, AnyTls>,
    pub(super) base: &'a Base,
    /// The rows; earlier layers take precedence.
    pub(super) layers: [Option<&'a ByteMap>; 3],
}

impl<'a> Source<'a> {
    fn get(self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        if key.is_empty() {
            return Ok(None);
        }
        self.held(key).map_err(|error| self.base.error(error))
    }

    /// The value of a key that is not empty.
    pub(super) fn held(self, key: &[u8]) -> heed::Result<Option<Cow<'a, [u8]>>> {
        get(self.layers, key, || self.base.keys.get(self.txn, key))
    }

    /// A merged scan of a range.
    pub(super) fn run(
        self,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn Run<'a> + 'a>> {
        let (start, end) = bounds(range);
        let mut run: Box<dyn Run<'a> + 'a> = Box::new(BaseRun {
            rest: Rest::new(self, start, end, direction)?,
            source: self,
            range: range.clone(),
            direction,
            sought: Vec::new(),
            passed: None,
        });
        for rows in self.layers.into_iter().rev().flatten() {
            run = Over::lay(rows, range, direction, run);
        }
        Ok(run)
    }

    fn scan(self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + 'a>> {
        Ok(Box::new(EmbeddedCursor(self.run(range, direction)?)))
    }
}

struct EmbeddedCursor<'a>(Box<dyn Run<'a> + 'a>);

impl Cursor for EmbeddedCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.0.next()
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.0.seek(key)
    }
}

/// The bounds of a range for LMDB, which has no empty key.
pub(super) fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let start = match range.start.as_slice() {
        [] => Bound::Unbounded,
        start => Bound::Included(start),
    };
    let end = range.end.as_deref();
    (start, end.map_or(Bound::Unbounded, Bound::Excluded))
}

/// A scan of the rows in LMDB.
struct BaseRun<'a> {
    source: Source<'a>,
    range: KeyRange,
    direction: Direction,
    rest: Rest<'a>,
    /// The key of the last seek; empty without one.
    sought: Vec<u8>,
    /// The last key returned since.
    passed: Option<&'a [u8]>,
}

impl BaseRun<'_> {
    /// Whether `key` is in scan order. The keys of a damaged page may be in any order, and a scan that sees
    /// a key again might never end.
    fn is_in_order(&self, key: &[u8]) -> bool {
        match (self.passed, self.direction) {
            (Some(passed), Direction::Forward) => passed < key,
            (Some(passed), Direction::Backward) => key < passed,
            (None, _) if !self.range.contains(key) => false,
            (None, _) if self.sought.is_empty() => true,
            (None, Direction::Forward) => self.sought.as_slice() <= key,
            (None, Direction::Backward) => key <= self.sought.as_slice(),
        }
    }
}

/// The rest of the scan.
enum Rest<'a> {
    Forward(RoRange<'a, Bytes, Bytes>),
    Backward(RoRevRange<'a, Bytes, Bytes>),
    Nothing,
}

impl<'a> Rest<'a> {
    fn new(
        source: Source<'a>,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<Self> {
        if !holds_any(start, end) {
            return Ok(Self::Nothing);
        }
        let (keys, txn, bounds) = (&source.base.keys, source.txn, (start, end));
        match direction {
            Direction::Forward => keys.range(txn, &bounds).map(Self::Forward),
            Direction::Backward => keys.rev_range(txn, &bounds).map(Self::Backward),
        }
        .map_err(|error| source.base.error(error))
    }
}

impl<'a> Run<'a> for BaseRun<'a> {
    fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>> {
        let next = match &mut self.rest {
            Rest::Forward(rest) => rest.next(),
            Rest::Backward(rest) => rest.next(),
            Rest::Nothing => None,
        };
        let Some(next) = next else {
            self.rest = Rest::Nothing;
            return Ok(None);
        };
        let (key, value) = next.map_err(|error| self.source.base.error(error))?;
        if !self.is_in_order(key) {
            self.rest = Rest::Nothing;
            return Err(out_of_order(&self.source.base.dir));
        }
        self.passed = Some(key);
        Ok(Some((key, value)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let (start, end) = bounds(&self.range);
        let (start, end) = match self.direction {
            Direction::Forward if key > self.range.start.as_slice() => (Bound::Included(key), end),
            Direction::Backward if self.range.is_before_end(key) => (start, Bound::Included(key)),
            _ => (start, end),
        };
        self.rest = Rest::new(self.source, start, end, self.direction)?;
        self.sought.clear();
        self.sought.extend_from_slice(key);
        self.passed = None;
        Ok(())
    }
}

/// Whether keys can lie between the bounds; keys are not empty.
fn holds_any(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Included(start), Bound::Included(end)) => start <= end,
        (Bound::Included(start), Bound::Excluded(end)) => start < end,
        (_, Bound::Included(end) | Bound::Excluded(end)) => !end.is_empty(),
        _ => true,
    }
}
