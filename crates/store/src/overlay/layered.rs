//! A combined view of changes and their base.

use std::borrow::Cow;
use std::ops::Bound;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};

use super::changes::Changes;

/// Changes over a snapshot, both borrowed.
#[derive(Clone, Copy)]
pub(crate) struct Layered<'a> {
    /// The snapshot below.
    pub base: &'a dyn Snapshot,
    /// The changes above.
    pub changes: &'a Changes,
}

impl<'a> Layered<'a> {
    /// The value of a key.
    pub fn value(self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        match self.changes.get(key) {
            Some(written) => Ok(written.map(Cow::Borrowed)),
            None if self.changes.is_cleared(key) => Ok(None),
            None => self.base.get(key),
        }
    }

    /// The keys of a range.
    pub fn cursor(self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + 'a>> {
        let base = self.base.scan(range, direction)?;
        if self.changes.is_empty() {
            return Ok(base);
        }
        let mut merged = MergedCursor {
            changes: self.changes,
            range: range.clone(),
            direction,
            base,
            from_base: Pair::default(),
            has_base: false,
            is_rewritten: false,
            is_unread: false,
            written: Box::new(std::iter::empty()),
            next_written: None,
            current: Pair::default(),
        };
        merged.seek_written(None);
        merged.read_base()?;
        Ok(Box::new(merged))
    }
}

impl Snapshot for Layered<'_> {
    fn version(&self) -> Version {
        self.base.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.value(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.cursor(range, direction)
    }
}

/// Borrows a bound.
fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// A key and its value, in reused buffers.
#[derive(Default)]
struct Pair {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Pair {
    fn set(&mut self, key: &[u8], value: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        self.value.extend_from_slice(value);
    }
}

/// A scan over base and changes together.
struct MergedCursor<'a> {
    changes: &'a Changes,
    range: KeyRange,
    direction: Direction,
    base: Box<dyn Cursor + 'a>,
    /// The next visible key of the base, if `has_base`.
    from_base: Pair,
    has_base: bool,
    /// Whether the changes overwrite that key of the base: the written key replaces it.
    is_rewritten: bool,
    /// Whether the next key of the base has not been read yet.
    is_unread: bool,
    /// The written keys after `next_written`, without deleted ones.
    written: Box<dyn Iterator<Item = (&'a [u8], &'a [u8])> + 'a>,
    next_written: Option<(&'a [u8], &'a [u8])>,
    current: Pair,
}

impl<'a> MergedCursor<'a> {
    /// Reads the next key of the base that is not deleted.
    fn read_base(&mut self) -> Result<()> {
        (self.has_base, self.is_unread) = (false, false);
        while let Some((key, value)) = self.base.next()? {
            self.from_base.set(key, value);
            let key = &self.from_base.key;
            if let Some(hidden) = self.changes.cleared_around(key) {
                if !self.skip(&hidden)? {
                    return Ok(());
                }
                continue;
            }
            let written = self.changes.get(key);
            if written != Some(None) {
                // The keys after a rewritten key are read on demand: there may be many of them.
                (self.has_base, self.is_rewritten) = (true, written.is_some());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves the base cursor past the deleted range that it is in; returns false if there is nothing after
    /// it.
    fn skip(&mut self, hidden: &KeyRange) -> Result<bool> {
        match (self.direction, &hidden.end) {
            (Direction::Forward, None) => return Ok(false),
            (Direction::Forward, Some(end)) => self.base.seek(end)?,
            (Direction::Backward, _) => {
                if hidden.start <= self.range.start {
                    return Ok(false);
                }
                // At the start of the deleted range already: the next key is the one before it.
                if hidden.start != self.from_base.key {
                    self.base.seek(&hidden.start)?;
                }
            }
        }
        Ok(true)
    }

    /// Continues with the written keys from a key of the range on; `None` is the start of the range.
    fn seek_written(&mut self, place: Option<&[u8]>) {
        let KeyRange { start, end } = self.range.clone();
        let mut first = Bound::Included(start.clone());
        let mut last = end.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let mut is_empty = self.range.is_empty();
        match (place, self.direction) {
            (None, _) => {}
            (Some(place), Direction::Forward) => {
                is_empty |= !self.range.is_before_end(place);
                first = Bound::Included(start.max(place.to_vec()));
            }
            (Some(place), Direction::Backward) => {
                is_empty |= place < start.as_slice();
                if self.range.is_before_end(place) {
                    last = Bound::Included(place.to_vec());
                }
            }
        }
        let changes: &'a Changes = self.changes;
        self.written = if is_empty {
            Box::new(std::iter::empty())
        } else {
            let keys = changes.between(borrowed(&first), borrowed(&last));
            let keys = keys.filter_map(|(key, value)| Some((key, value?)));
            match self.direction {
                Direction::Forward => Box::new(keys),
                Direction::Backward => Box::new(keys.rev()),
            }
        };
        self.next_written = self.written.next();
    }
}

impl Cursor for MergedCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.is_unread {
            self.read_base()?;
        }
        if let Some((key, value)) = self.next_written {
            let base = self.from_base.key.as_slice();
            if self.has_base && self.is_rewritten && key == base {
                (self.has_base, self.is_unread) = (false, true);
            }
            let is_first = match self.direction {
                Direction::Forward => key < base,
                Direction::Backward => key > base,
            };
            if is_first || !self.has_base {
                self.next_written = self.written.next();
                return Ok(Some((key, value)));
            }
        }
        if !self.has_base {
            return Ok(None);
        }
        std::mem::swap(&mut self.current, &mut self.from_base);
        self.read_base()?;
        Ok(Some((&self.current.key, &self.current.value)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.base.seek(key)?;
        self.seek_written(Some(key));
        self.read_base()
    }
}
