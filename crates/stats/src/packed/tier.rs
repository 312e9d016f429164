//! The recent buckets of one granularity.
//!
//! In most commits of a series a new bucket begins, or the newest one changes. So the buckets before the newest one stay
//! encoded, and the newest one is appended to them when the next one begins: the cost does not depend on their number.

use std::borrow::Cow;
use std::sync::Arc;

use super::codec::Codec;
use super::integers::{put_signed, take_signed};
use super::table::{Fit, Table};
use crate::number::{put_text, put_varint, take_text, take_varint};
use crate::row::MergeMode;
use crate::{Error, Granularity, Number, Path, Result};

/// The tier has buckets with rows of their own.
const HAS_OWN: u8 = 1;

/// The tier has, or had, block rows.
const HAS_BLOCKS: u8 = 2;

/// The tier has encoded buckets.
const HAS_CLOSED: u8 = 4;

/// The tier has a newest bucket.
const HAS_NEWEST: u8 = 8;

/// The recent buckets of one granularity, and where the others are.
#[derive(Clone)]
pub(crate) struct Tier {
    /// The length of the buckets.
    pub(crate) granularity: Granularity,
    /// The start of the last bucket that has rows of its own; `None` if there is none.
    pub(crate) own_to: Option<i64>,
    /// Buckets before this time are in block rows, all others in this tier, unless they have rows of their own. `None`
    /// if there are no block rows.
    pub(crate) blocks_to: Option<i64>,
    closed: Closed,
    /// The buckets after the closed ones, with the columns of these: after decoding at most the newest one.
    table: Table,
}

/// Encoded buckets.
#[derive(Clone, Default)]
struct Closed {
    count: usize,
    /// The start of the last one.
    last: i64,
    rows: Vec<u8>,
}

impl Closed {
    /// The start of the last bucket; 0 if there is none, from which the start of the first one is counted.
    fn end(&self) -> i64 {
        match self.count {
            0 => 0,
            _ => self.last,
        }
    }
}

impl Tier {
    /// A tier without packed buckets.
    pub(crate) fn new(granularity: Granularity, own_to: Option<i64>) -> Self {
        Self {
            granularity,
            own_to,
            blocks_to: None,
            closed: Closed::default(),
            table: Table::default(),
        }
    }

    /// The number of buckets.
    pub(crate) fn len(&self) -> usize {
        self.closed.count + self.table.len()
    }

    /// The start of the newest bucket.
    fn last(&self) -> Option<i64> {
        let closed = (self.closed.count > 0).then_some(self.closed.last);
        self.table.starts().last().copied().or(closed)
    }

    /// All buckets, decoded.
    pub(crate) fn table(&mut self) -> Result<&mut Table> {
        if self.closed.count > 0 {
            let newest = std::mem::take(&mut self.table);
            self.table = Table::with_columns(&newest);
            let (mut rows, mut start) = (self.closed.rows.as_slice(), 0);
            for _ in 0..self.closed.count {
                start = self.table.take_row(&mut rows, start)?;
            }
            self.table.append(newest)?;
            self.closed.count = 0;
            self.closed.rows.clear();
        }
        Ok(&mut self.table)
    }

    /// Whether there is a bucket.
    pub(crate) fn has(&mut self, start: i64) -> Result<bool> {
        match self.last() {
            Some(last) if start < last => Ok(self.table()?.find(start).is_some()),
            last => Ok(last == Some(start)),
        }
    }

    /// Changes values of a bucket, which begins if it does not exist. They are sorted by path.
    pub(crate) fn change(
        &mut self,
        start: i64,
        values: &[(Path, Number)],
        mode: MergeMode,
    ) -> Result<Fit> {
        let last = self.last();
        if !self.table.has_columns(values) || last.is_some_and(|last| start < last) {
            self.table()?;
        } else if self.table.len() == 1 && last.is_some_and(|last| start > last) {
            self.close_newest();
        } else if self.table.len() == 0 && last == Some(start) {
            self.table()?;
        }
        self.table.change(start, values, mode)
    }

    /// Encodes the newest bucket, because a later one begins.
    fn close_newest(&mut self) {
        let before = self.closed.end();
        self.table.put_row(&mut self.closed.rows, 0, before);
        self.closed.last = self.table.starts()[0];
        self.closed.count += 1;
        self.table.clear();
    }

    /// Removes the buckets that start before a time; returns whether there were any.
    pub(crate) fn remove_before(&mut self, start: i64) -> Result<bool> {
        let mut rows = self.closed.rows.as_slice();
        let first = match self.closed.count {
            0 => self.table.starts().first().copied(),
            _ => Some(take_signed(&mut rows)?),
        };
        match first {
            Some(first) if first < start => {
                let table = self.table()?;
                let count = table.starts().partition_point(|other| *other < start);
                table.split_off(0..count);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    pub(super) fn paths(&self) -> &[Path] {
        &self.table.paths
    }

    /// The paths that may have a value.
    pub(super) fn used_paths(&self) -> Cow<'_, [Path]> {
        match self.closed.count {
            0 => self.table.used_paths(),
            _ => Cow::Borrowed(&self.table.paths),
        }
    }

    /// Replaces the columns by others, which include all columns with values.
    pub(super) fn set_columns(&mut self, paths: &Arc<[Path]>) -> Result<()> {
        if *self.table.paths != **paths {
            self.table()?.set_columns(Arc::clone(paths));
        }
        Ok(())
    }

    pub(super) fn put(&self, out: &mut Vec<u8>, codec: &mut Codec) {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let encoded = self.table.len().saturating_sub(1);
        let count = self.closed.count + encoded;
        let body = &mut codec.part;
        body.clear();
        body.push(
            flag(self.own_to.is_some(), HAS_OWN)
                | flag(self.blocks_to.is_some(), HAS_BLOCKS)
                | flag(count > 0, HAS_CLOSED)
                | flag(self.table.len() > 0, HAS_NEWEST),
        );
        for time in [self.own_to, self.blocks_to].into_iter().flatten() {
            put_signed(body, time);
        }
        let mut last = self.closed.end();
        if count > 0 {
            codec.rows.clear();
            codec.rows.extend_from_slice(&self.closed.rows);
            for index in 0..encoded {
                self.table.put_row(&mut codec.rows, index, last);
                last = self.table.starts()[index];
            }
            put_varint(body, count as u128);
            put_signed(body, last);
            put_text(body, &codec.rows);
        }
        if self.table.len() > 0 {
            self.table.put_row(body, encoded, last);
        }
        out.push(self.granularity.unit().id());
        put_varint(out, u128::from(self.granularity.count()));
        put_text(out, body);
    }

    /// Replaces the tier, except for its granularity, by a decoded one.
    pub(super) fn take_body(&mut self, mut body: &[u8], paths: Arc<[Path]>) -> Result<()> {
        let flags = *body.split_off_first().ok_or_else(damaged)?;
        let mut time = |flag| match flags & flag {
            0 => Ok(None),
            _ => take_signed(&mut body).map(Some),
        };
        self.own_to = time(HAS_OWN)?;
        self.blocks_to = time(HAS_BLOCKS)?;
        self.closed.count = 0;
        self.closed.rows.clear();
        let mut last = 0;
        if flags & HAS_CLOSED != 0 {
            self.closed.count = usize::try_from(take_varint(&mut body)?).map_err(|_| damaged())?;
            last = take_signed(&mut body)?;
            self.closed.last = last;
            self.closed.rows.extend_from_slice(take_text(&mut body)?);
        }
        self.table.clear();
        self.table.paths = paths;
        if flags & HAS_NEWEST != 0 {
            self.table.take_row(&mut body, last)?;
        }
        Ok(())
    }
}

pub(super) fn damaged() -> Error {
    Error::corrupt("a stored row of recent buckets is damaged")
}
