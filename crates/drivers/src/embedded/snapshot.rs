//! Snapshots and cursors of the embedded engine: LMDB read transactions and its cursors.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};
use heed::types::Bytes;
use heed::{AnyTls, RoRange, RoRevRange, RoTxn, RwTxn, WithoutTls};

use super::engine::{Engine, Keys, Pass, engine_error};

/// A committed state, held. Fields are dropped in order: the transaction ends before the pass.
pub(super) struct EmbeddedSnapshot {
    txn: RoTxn<'static, WithoutTls>,
    pass: Pass,
}

impl EmbeddedSnapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self> {
        let (txn, pass) = engine.begin_read()?;
        Ok(Self { txn, pass })
    }

    fn source(&self) -> Source<'_> {
        Source {
            txn: &self.txn,
            keys: self.pass.keys(),
        }
    }
}

impl Snapshot for EmbeddedSnapshot {
    fn version(&self) -> Version {
        Version(self.txn.id() as u64)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.source().get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.source().scan(range, direction)
    }
}

/// A state that is being written: its transaction has not ended.
pub(super) struct UnfinishedSnapshot<'a> {
    pub(super) txn: &'a RwTxn<'a>,
    pub(super) keys: &'a Keys,
}

impl UnfinishedSnapshot<'_> {
    fn source(&self) -> Source<'_> {
        Source {
            txn: self.txn,
            keys: self.keys,
        }
    }
}

impl Snapshot for UnfinishedSnapshot<'_> {
    fn version(&self) -> Version {
        Version(self.txn.id() as u64 - 1)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.source().get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.source().scan(range, direction)
    }
}

/// Where keys are read: in a transaction of either kind.
#[derive(Clone, Copy)]
struct Source<'a> {
    txn: &'a RoTxn<'a, AnyTls>,
    keys: &'a Keys,
}

impl<'a> Source<'a> {
    fn get(self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        if key.is_empty() {
            return Ok(None);
        }
        let value = self.keys.get(self.txn, key).map_err(engine_error)?;
        Ok(value.map(Cow::Borrowed))
    }

    fn scan(self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + 'a>> {
        let (start, end) = bounds(range);
        Ok(Box::new(EmbeddedCursor {
            rest: Rest::new(self, start, end, direction)?,
            source: self,
            range: range.clone(),
            direction,
        }))
    }
}

/// The bounds of a range as LMDB takes them: it knows no empty key.
pub(super) fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let start = match range.start.as_slice() {
        [] => Bound::Unbounded,
        start => Bound::Included(start),
    };
    let end = range.end.as_deref();
    (start, end.map_or(Bound::Unbounded, Bound::Excluded))
}

struct EmbeddedCursor<'a> {
    source: Source<'a>,
    range: KeyRange,
    direction: Direction,
    rest: Rest<'a>,
}

/// What is still to come.
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
        let (keys, txn, bounds) = (source.keys, source.txn, (start, end));
        match direction {
            Direction::Forward => keys.range(txn, &bounds).map(Self::Forward),
            Direction::Backward => keys.rev_range(txn, &bounds).map(Self::Backward),
        }
        .map_err(engine_error)
    }
}

impl Cursor for EmbeddedCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let next = match &mut self.rest {
            Rest::Forward(rest) => rest.next(),
            Rest::Backward(rest) => rest.next(),
            Rest::Nothing => None,
        };
        if next.is_none() {
            self.rest = Rest::Nothing;
        }
        next.transpose().map_err(engine_error)
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let (start, end) = bounds(&self.range);
        let (start, end) = match self.direction {
            Direction::Forward if key > self.range.start.as_slice() => (Bound::Included(key), end),
            Direction::Backward if self.range.is_before_end(key) => (start, Bound::Included(key)),
            _ => (start, end),
        };
        self.rest = Rest::new(self.source, start, end, self.direction)?;
        Ok(())
    }
}

/// Whether keys can lie between the bounds; no key is empty.
fn holds_any(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Included(start), Bound::Included(end)) => start <= end,
        (Bound::Included(start), Bound::Excluded(end)) => start < end,
        (_, Bound::Included(end) | Bound::Excluded(end)) => !end.is_empty(),
        _ => true,
    }
}
