//! Scans of changed rows over other rows.

use espalier_keyspace::{ByteMapCursor, Direction, KeyRange, Result};

use super::changed_rows::{ChangedRows, value_of};
use super::removed_ranges::{Bounds, RemovedRanges};

/// A cursor whose keys and values outlive it.
pub(in crate::embedded) trait RowCursor<'a> {
    /// Returns the next key and value, or `None` after the end (and on every later call).
    #[allow(clippy::type_complexity)]
    fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>>;

    /// See [`espalier_keyspace::Cursor::seek`].
    fn seek(&mut self, key: &[u8]) -> Result<()>;

    /// The number of marks of deleted keys, and of removed ranges, that were passed so far.
    fn tombstones(&self) -> u64 {
        0
    }
}

/// A key and its value.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// A cursor that merges changed rows with another cursor.
pub(in crate::embedded) struct OverlayCursor<'a> {
    upper: ByteMapCursor<'a>,
    removed: RemovedFilter<'a>,
    lower: Box<dyn RowCursor<'a> + 'a>,
    direction: Direction,
    /// The next pair of each of the two, if it was read already.
    next_upper: Lookahead<'a>,
    next_lower: Lookahead<'a>,
    /// The tombstones passed between the pairs that were returned.
    tombstones: u64,
    /// The number of removed ranges that were passed, and how many of these and of the tombstones below are counted
    /// already: those before a pair that was read in advance are not.
    ranges: u64,
    counted_below: u64,
}

/// The next pair of a cursor.
#[derive(Clone, Copy)]
enum Lookahead<'a> {
    NotRead,
    Read(Option<Pair<'a>>),
}

impl<'a> OverlayCursor<'a> {
    /// Merges the changes of `rows` in `range` with `lower`, a cursor over the same range; returns `lower`
    /// itself if there are none.
    pub(in crate::embedded) fn overlay(
        rows: &'a ChangedRows,
        range: &KeyRange,
        direction: Direction,
        lower: Box<dyn RowCursor<'a> + 'a>,
    ) -> Box<dyn RowCursor<'a> + 'a> {
        if rows.is_empty() || !rows.overlaps(range) {
            return lower;
        }
        Box::new(Self {
            upper: rows.entries(range, direction),
            removed: RemovedFilter::new(rows.removed(), direction),
            lower,
            direction,
            next_upper: Lookahead::NotRead,
            next_lower: Lookahead::NotRead,
            tombstones: 0,
            ranges: 0,
            counted_below: 0,
        })
    }

    /// The next lower pair outside of the removed ranges. Each range is passed with one seek.
    fn next_below(&mut self) -> Result<Option<Pair<'a>>> {
        while let Some(pair) = self.lower.next()? {
            let Some((start, end)) = self.removed.around(pair.0) else {
                return Ok(Some(pair));
            };
            self.ranges += 1;
            match (self.direction, end) {
                (Direction::Forward, Some(end)) => self.lower.seek(end)?,
                (Direction::Forward, None) => return Ok(None),
                (Direction::Backward, _) if pair.0 == start => {}
                (Direction::Backward, _) => self.lower.seek(start)?,
            }
        }
        Ok(None)
    }

    /// Takes the lower pair that was read.
    fn take_lower(&mut self) {
        self.next_lower = Lookahead::NotRead;
        self.count_below();
    }

    fn count_below(&mut self) {
        let below = self.ranges + self.lower.tombstones();
        self.tombstones += below - self.counted_below;
        self.counted_below = below;
    }

    /// Takes the next pair of either cursor; an entry in memory hides the same key lower.
    fn next_merged(&mut self) -> Result<Option<MergedPair<'a>>> {
        let upper = match self.next_upper {
            Lookahead::Read(pair) => pair,
            Lookahead::NotRead => self.upper.next(),
        };
        let lower = match self.next_lower {
            Lookahead::Read(pair) => pair,
            Lookahead::NotRead => self.next_below()?,
        };
        (self.next_upper, self.next_lower) = (Lookahead::Read(upper), Lookahead::Read(lower));
        let (Some((key, entry)), Some(pair)) = (upper, lower) else {
            return Ok(match (upper, lower) {
                (Some((key, entry)), _) => {
                    self.next_upper = Lookahead::NotRead;
                    Some(MergedPair::Upper(key, entry))
                }
                (None, Some(pair)) => {
                    self.take_lower();
                    Some(MergedPair::Lower(pair))
                }
                (None, None) => {
                    self.count_below();
                    None
                }
            });
        };
        let order = match self.direction {
            Direction::Forward => key.cmp(pair.0),
            Direction::Backward => pair.0.cmp(key),
        };
        if order.is_gt() {
            self.take_lower();
            return Ok(Some(MergedPair::Lower(pair)));
        }
        self.next_upper = Lookahead::NotRead;
        if order.is_eq() {
            self.take_lower();
        }
        Ok(Some(MergedPair::Upper(key, entry)))
    }
}

/// The next pair and its source.
enum MergedPair<'a> {
    Upper(&'a [u8], &'a [u8]),
    Lower(Pair<'a>),
}

impl<'a> RowCursor<'a> for OverlayCursor<'a> {
    fn next(&mut self) -> Result<Option<Pair<'a>>> {
        loop {
            match self.next_merged()? {
                None => return Ok(None),
                Some(MergedPair::Lower(pair)) => return Ok(Some(pair)),
                Some(MergedPair::Upper(key, entry)) => {
                    if let Some(value) = value_of(entry) {
                        return Ok(Some((key, value)));
                    }
                    self.tombstones += 1;
                }
            }
        }
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.upper.seek(key);
        self.removed.seek();
        (self.next_upper, self.next_lower) = (Lookahead::NotRead, Lookahead::NotRead);
        self.count_below();
        self.lower.seek(key)
    }

    fn tombstones(&self) -> u64 {
        self.tombstones
    }
}

/// Finds the removed ranges around the keys of a scan.
struct RemovedFilter<'a> {
    ranges: &'a RemovedRanges,
    direction: Direction,
    next: NextRange<'a>,
}

/// The next removed range of a scan.
enum NextRange<'a> {
    Unknown,
    None,
    /// Forward, its first key; backward, the first key after it.
    At(&'a [u8]),
}

impl<'a> RemovedFilter<'a> {
    fn new(ranges: &'a RemovedRanges, direction: Direction) -> Self {
        let next = match ranges.is_empty() {
            true => NextRange::None,
            false => NextRange::Unknown,
        };
        Self {
            ranges,
            direction,
            next,
        }
    }

    /// Prepares for a key before those so far.
    fn seek(&mut self) {
        *self = Self::new(self.ranges, self.direction);
    }

    /// The removed range that contains the next key of the scan.
    fn around(&mut self, key: &[u8]) -> Option<Bounds<'a>> {
        match (&self.next, self.direction) {
            (NextRange::None, _) => return None,
            (NextRange::At(start), Direction::Forward) if key < *start => return None,
            (NextRange::At(end), Direction::Backward) if key >= *end => return None,
            _ => {}
        }
        let around = self.ranges.around(key);
        self.next = match (around, self.direction) {
            (Some(_), _) => NextRange::Unknown,
            (None, Direction::Forward) => {
                let next = self.ranges.start_from(key);
                next.map_or(NextRange::None, NextRange::At)
            }
            (None, Direction::Backward) => {
                let next = self.ranges.floor(key).and_then(|(_, end)| end);
                next.map_or(NextRange::None, NextRange::At)
            }
        };
        around
    }
}
