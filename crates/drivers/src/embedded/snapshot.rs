//! Snapshots and cursors: LMDB read transactions and cursors, merged with the rows that are only in the
//! journal.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};
use heed::types::Bytes;
use heed::{AnyTls, RoRange, RoRevRange, RoTxn, RwTxn};

use super::engine::{
    ChangedRows, Engine, Lmdb, OverlayCursor, Reading, RowCursor, bounds, lookup,
    out_of_order_error,
};

/// A snapshot of a committed state. Fields are dropped in order: the transaction ends before the engine is
/// released.
pub(super) struct EmbeddedSnapshot {
    reading: Reading,
    engine: Arc<Engine>,
}

impl EmbeddedSnapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Self {
            reading: engine.begin_read()?,
            engine: Arc::clone(engine),
        })
    }

    fn source(&self) -> ReadSource<'_> {
        source(&self.reading)
    }
}

fn source(reading: &Reading) -> ReadSource<'_> {
    let [newest, frozen] = reading.layers.rows();
    ReadSource {
        txn: &reading.txn,
        base: reading.gate_guard.base(),
        layers: [None, newest, frozen],
    }
}

/// The number of keys.
pub(super) fn count(reading: &Reading) -> Result<u64> {
    let mut cursor = source(reading).cursor(&KeyRange::all(), Direction::Forward)?;
    let mut keys = 0;
    while cursor.next()?.is_some() {
        keys += 1;
    }
    Ok(keys)
}

impl Snapshot for EmbeddedSnapshot {
    fn version(&self) -> Version {
        self.reading.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.source().get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        let rows = self.source().cursor(range, direction)?;
        Ok(Box::new(JoiningCursor {
            rows,
            snapshot: self,
            range: range.clone(),
            rest: None,
            direction,
            last_key: None,
            tombstones: 0,
        }))
    }
}

/// The state of an LMDB transaction in progress.
pub(super) struct TransactionSnapshot<'a> {
    pub(super) txn: &'a RwTxn<'a>,
    pub(super) base: &'a Lmdb,
    /// The version before the transaction.
    pub(super) version: Version,
}

impl TransactionSnapshot<'_> {
    fn source(&self) -> ReadSource<'_> {
        ReadSource {
            txn: self.txn,
            base: self.base,
            layers: [None; 3],
        }
    }
}

impl Snapshot for TransactionSnapshot<'_> {
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
pub(super) struct ReadSource<'a> {
    pub(super) txn: &'a RoTxn<'a, AnyTls>,
    pub(super) base: &'a Lmdb,
    /// The rows; earlier layers take precedence.
    pub(super) layers: [Option<&'a ChangedRows>; 3],
}

impl<'a> ReadSource<'a> {
    fn get(self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        if key.is_empty() {
            return Ok(None);
        }
        self.lookup(key).map_err(|error| self.base.error(error))
    }

    /// The value of a key that is not empty.
    pub(super) fn lookup(self, key: &[u8]) -> heed::Result<Option<Cow<'a, [u8]>>> {
        lookup(self.layers, key, || self.base.keys.get(self.txn, key))
    }

    /// A merged scan of a range.
    pub(super) fn cursor(
        self,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn RowCursor<'a> + 'a>> {
        let (start, end) = bounds(range);
        let mut cursor: Box<dyn RowCursor<'a> + 'a> = Box::new(LmdbCursor {
            rest: LmdbRange::new(self, start, end, direction)?,
            source: self,
            range: range.clone(),
            direction,
            sought_key: Vec::new(),
            last_key: None,
        });
        for rows in self.layers.into_iter().rev().flatten() {
            cursor = OverlayCursor::overlay(rows, range, direction, cursor);
        }
        Ok(cursor)
    }

    fn scan(self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + 'a>> {
        Ok(Box::new(EmbeddedCursor(self.cursor(range, direction)?)))
    }
}

/// Number of deleted keys between two rows from which on they are made one removed range.
const TOMBSTONES_MAX: u64 = 16;

/// A cursor that joins the deleted keys that it passes, so that the next one need not pass them again.
struct JoiningCursor<'a> {
    rows: Box<dyn RowCursor<'a> + 'a>,
    snapshot: &'a EmbeddedSnapshot,
    range: KeyRange,
    /// The range from the last seek on.
    rest: Option<KeyRange>,
    direction: Direction,
    /// The last key returned since.
    last_key: Option<&'a [u8]>,
    /// The number of deleted keys passed before the last key.
    tombstones: u64,
}

impl JoiningCursor<'_> {
    /// Joins the deleted keys before the next row.
    #[cold]
    fn join(&self, next: Option<&[u8]>) {
        let (before, after) = match self.direction {
            Direction::Forward => (self.last_key, next),
            Direction::Backward => (next, self.last_key),
        };
        let mut empty = self.rest.as_ref().unwrap_or(&self.range).clone();
        if let Some(before) = before {
            empty.start = [before, &[0]].concat();
        }
        if let Some(after) = after {
            empty.end = Some(after.to_vec());
        }
        let generation = self.snapshot.reading.layers.generation();
        let engine = &self.snapshot.engine;
        engine.journal.join_removed(generation, &empty);
    }
}

impl Cursor for JoiningCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let next = self.rows.next()?;
        let tombstones = self.rows.tombstones();
        if tombstones > self.tombstones {
            if tombstones - self.tombstones > TOMBSTONES_MAX {
                self.join(next.map(|(key, _)| key));
            }
            self.tombstones = tombstones;
        }
        if let Some((key, _)) = next {
            self.last_key = Some(key);
        }
        Ok(next)
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.rest = Some(self.range.remaining_from(key, self.direction));
        self.last_key = None;
        self.rows.seek(key)?;
        self.tombstones = self.rows.tombstones();
        Ok(())
    }
}

impl Drop for JoiningCursor<'_> {
    fn drop(&mut self) {
        let passed = self.rows.tombstones();
        if passed > 0 {
            let total = &self.snapshot.engine.tombstones_passed;
            total.fetch_add(passed, Ordering::Relaxed);
        }
    }
}

struct EmbeddedCursor<'a>(Box<dyn RowCursor<'a> + 'a>);

impl Cursor for EmbeddedCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.0.next()
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.0.seek(key)
    }
}

/// A scan of the rows in LMDB.
struct LmdbCursor<'a> {
    source: ReadSource<'a>,
    range: KeyRange,
    direction: Direction,
    rest: LmdbRange<'a>,
    /// The key of the last seek; empty without one.
    sought_key: Vec<u8>,
    /// The last key returned since.
    last_key: Option<&'a [u8]>,
}

impl LmdbCursor<'_> {
    /// Whether `key` is in scan order. The keys of a damaged page may be in any order, and a scan that sees
    /// a key again might never end.
    fn is_in_order(&self, key: &[u8]) -> bool {
        match (self.last_key, self.direction) {
            (Some(last_key), Direction::Forward) => last_key < key,
            (Some(last_key), Direction::Backward) => key < last_key,
            (None, _) if !self.range.contains(key) => false,
            (None, _) if self.sought_key.is_empty() => true,
            (None, Direction::Forward) => self.sought_key.as_slice() <= key,
            (None, Direction::Backward) => key <= self.sought_key.as_slice(),
        }
    }
}

/// The rest of the scan.
enum LmdbRange<'a> {
    Forward(RoRange<'a, Bytes, Bytes>),
    Backward(RoRevRange<'a, Bytes, Bytes>),
    Nothing,
}

impl<'a> LmdbRange<'a> {
    fn new(
        source: ReadSource<'a>,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<Self> {
        if !can_contain_keys(start, end) {
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

impl<'a> RowCursor<'a> for LmdbCursor<'a> {
    fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>> {
        let next = match &mut self.rest {
            LmdbRange::Forward(rest) => rest.next(),
            LmdbRange::Backward(rest) => rest.next(),
            LmdbRange::Nothing => None,
        };
        let Some(next) = next else {
            self.rest = LmdbRange::Nothing;
            return Ok(None);
        };
        let (key, value) = next.map_err(|error| self.source.base.error(error))?;
        if !self.is_in_order(key) {
            self.rest = LmdbRange::Nothing;
            return Err(out_of_order_error(&self.source.base.dir));
        }
        self.last_key = Some(key);
        Ok(Some((key, value)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let (start, end) = bounds(&self.range);
        let (start, end) = match self.direction {
            Direction::Forward if key > self.range.start.as_slice() => (Bound::Included(key), end),
            Direction::Backward if self.range.is_before_end(key) => (start, Bound::Included(key)),
            _ => (start, end),
        };
        self.rest = LmdbRange::new(self.source, start, end, self.direction)?;
        self.sought_key.clear();
        self.sought_key.extend_from_slice(key);
        self.last_key = None;
        Ok(())
    }
}

/// Whether keys can lie between the bounds; keys are not empty.
fn can_contain_keys(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Included(start), Bound::Included(end)) => start <= end,
        (Bound::Included(start), Bound::Excluded(end)) => start < end,
        (_, Bound::Included(end) | Bound::Excluded(end)) => !end.is_empty(),
        _ => true,
    }
}
