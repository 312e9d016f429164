//! Reading changes and what they change as one.

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
        let mut merged = Merged {
            changes: self.changes,
            range: range.clone(),
            direction,
            base,
            from_base: None,
            place: None,
            is_started: false,
            current: (Vec::new(), Vec::new()),
        };
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

/// A scan over base and changes together.
struct Merged<'a> {
    changes: &'a Changes,
    range: KeyRange,
    direction: Direction,
    base: Box<dyn Cursor + 'a>,
    /// The next visible key of the base.
    from_base: Option<(Vec<u8>, Vec<u8>)>,
    /// The last written key that was passed, or sought (then it is not passed yet).
    place: Option<Vec<u8>>,
    is_started: bool,
    current: (Vec<u8>, Vec<u8>),
}

impl Merged<'_> {
    /// Takes the next key of the base that no change hides.
    fn read_base(&mut self) -> Result<()> {
        loop {
            let Some((key, value)) = self.base.next()? else {
                self.from_base = None;
                return Ok(());
            };
            let (key, value) = (key.to_vec(), value.to_vec());
            if let Some(hidden) = self.changes.cleared_around(&key) {
                if !self.skip(&hidden, &key)? {
                    self.from_base = None;
                    return Ok(());
                }
            } else if !self.changes.has_written(&key) {
                self.from_base = Some((key, value));
                return Ok(());
            }
        }
    }

    /// Moves the base past a deleted range; false where nothing lies beyond.
    fn skip(&mut self, hidden: &KeyRange, at: &[u8]) -> Result<bool> {
        match (self.direction, &hidden.end) {
            (Direction::Forward, None) => return Ok(false),
            (Direction::Forward, Some(end)) => self.base.seek(end)?,
            (Direction::Backward, _) => {
                if hidden.start <= self.range.start {
                    return Ok(false);
                }
                // At the start already, the next key is the one before it.
                if hidden.start != at {
                    self.base.seek(&hidden.start)?;
                }
            }
        }
        Ok(true)
    }

    /// The next written key after the place, deleted ones skipped.
    fn next_written(&self) -> Option<(&[u8], &[u8])> {
        let place = self.place.as_deref();
        let bound = |passed: &[u8]| -> Bound<Vec<u8>> {
            if self.is_started {
                Bound::Excluded(passed.to_vec())
            } else {
                Bound::Included(passed.to_vec())
            }
        };
        let start = Bound::Included(self.range.start.clone());
        let end = self
            .range
            .end
            .clone()
            .map_or(Bound::Unbounded, Bound::Excluded);
        if self.range.is_empty() {
            return None;
        }
        let found = match self.direction {
            Direction::Forward => {
                let start = place.map_or(start, bound);
                let keys = self.changes.between(start, Bound::Unbounded);
                keys.take_while(|(key, _)| self.range.is_before_end(key))
                    .find(|(_, value)| value.is_some())
            }
            Direction::Backward => {
                let end = place.map_or(end, bound);
                let keys = self.changes.between(Bound::Unbounded, end).rev();
                keys.take_while(|(key, _)| *key >= self.range.start.as_slice())
                    .find(|(_, value)| value.is_some())
            }
        };
        found.and_then(|(key, value)| Some((key, value?)))
    }
}

impl Cursor for Merged<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let written = self.next_written();
        let take_written = match (&written, &self.from_base) {
            (None, None) => return Ok(None),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((key, _)), Some((base, _))) => match self.direction {
                Direction::Forward => *key < base.as_slice(),
                Direction::Backward => *key > base.as_slice(),
            },
        };
        if take_written {
            if let Some((key, value)) = written {
                self.current = (key.to_vec(), value.to_vec());
            }
            self.place = Some(self.current.0.clone());
            self.is_started = true;
        } else if let Some(pair) = self.from_base.take() {
            self.current = pair;
            self.read_base()?;
        }
        Ok(Some((&self.current.0, &self.current.1)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.base.seek(key)?;
        self.place = match self.direction {
            Direction::Forward => Some(key.to_vec().max(self.range.start.clone())),
            Direction::Backward if !self.range.is_before_end(key) => None,
            Direction::Backward => Some(key.to_vec()),
        };
        self.is_started = false;
        self.read_base()
    }
}
