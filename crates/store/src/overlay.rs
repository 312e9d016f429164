//! Changes laid over a snapshot: a snapshot itself, so that whatever reads the one reads the other.
//!
//! An edit works on an overlay, and becomes a batch of what differs from the snapshot below.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};

/// A snapshot with changes that are not committed.
pub(crate) struct Overlay {
    base: Box<dyn Snapshot + Send>,
    /// Every key that was written since; `None` is deleted.
    written: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Ranges deleted as a whole, by start; they do not overlap. They hide keys of the base only.
    cleared: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Overlay {
    /// No changes over `base`.
    pub fn new(base: Box<dyn Snapshot + Send>) -> Self {
        Self {
            base,
            written: BTreeMap::new(),
            cleared: BTreeMap::new(),
        }
    }

    /// The snapshot below.
    pub fn base(&self) -> &dyn Snapshot {
        &*self.base
    }

    /// Sets a key.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.written.insert(key, Some(value));
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.written.insert(key, None);
    }

    /// Deletes a range of keys.
    pub fn delete_range(&mut self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let inside: Vec<Vec<u8>> = self
            .written
            .range(range.start.clone()..)
            .map(|(key, _)| key)
            .take_while(|key| range.is_before_end(key))
            .cloned()
            .collect();
        for key in inside {
            self.written.remove(&key);
        }
        self.clear(range);
    }

    /// Adds a range to the cleared ones, joined with those that it touches.
    fn clear(&mut self, range: &KeyRange) {
        let KeyRange { mut start, mut end } = range.clone();
        let last = end.clone().map_or(Bound::Unbounded, Bound::Included);
        let touching: Vec<Vec<u8>> = self
            .cleared
            .range::<Vec<u8>, _>((Bound::Unbounded, last))
            .rev()
            .take_while(|(_, other)| other.as_ref().is_none_or(|other| *other >= start))
            .map(|(other, _)| other.clone())
            .collect();
        for other in touching {
            let other_end = self.cleared.remove(&other).flatten();
            start = start.min(other);
            end = end.zip(other_end).map(|(end, other)| end.max(other));
        }
        self.cleared.insert(start, end);
    }

    fn cleared_around(&self, key: &[u8]) -> Option<KeyRange> {
        let (start, end) = self
            .cleared
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()?;
        let range = KeyRange {
            start: start.clone(),
            end: end.clone(),
        };
        range.contains(key).then_some(range)
    }

    /// The ranges deleted as a whole.
    pub fn cleared(&self) -> impl Iterator<Item = KeyRange> + '_ {
        self.cleared.iter().map(|(start, end)| KeyRange {
            start: start.clone(),
            end: end.clone(),
        })
    }

    /// The keys written, with what they hold now.
    pub fn written(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.written
            .iter()
            .map(|(key, value)| (key.as_slice(), value.as_deref()))
    }

    /// Whether a key is written within a range.
    pub fn writes_in(&self, range: &KeyRange) -> bool {
        self.written
            .range(range.start.clone()..)
            .next()
            .is_some_and(|(key, _)| range.is_before_end(key))
    }

    /// Whether a key is written (or deleted by itself).
    pub fn has_written(&self, key: &[u8]) -> bool {
        self.written.contains_key(key)
    }

    /// Whether a key of the base is hidden by a deleted range.
    pub fn is_cleared(&self, key: &[u8]) -> bool {
        self.cleared_around(key).is_some()
    }
}

impl Snapshot for Overlay {
    fn version(&self) -> Version {
        self.base.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        match self.written.get(key) {
            Some(written) => Ok(written.as_deref().map(Cow::Borrowed)),
            None if self.is_cleared(key) => Ok(None),
            None => self.base.get(key),
        }
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        let base = self.base.scan(range, direction)?;
        if self.written.is_empty() && self.cleared.is_empty() {
            return Ok(base);
        }
        let mut merged = Merged {
            overlay: self,
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

/// A scan over base and changes together.
struct Merged<'a> {
    overlay: &'a Overlay,
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
            if let Some(hidden) = self.overlay.cleared_around(&key) {
                if !self.skip(&hidden, &key)? {
                    self.from_base = None;
                    return Ok(());
                }
            } else if !self.overlay.written.contains_key(&key) {
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
                let keys = self.overlay.written.range((start, Bound::Unbounded));
                keys.take_while(|(key, _)| self.range.is_before_end(key))
                    .find(|(_, value)| value.is_some())
            }
            Direction::Backward => {
                let end = place.map_or(end, bound);
                let keys = self.overlay.written.range((Bound::Unbounded, end)).rev();
                keys.take_while(|(key, _)| **key >= self.range.start)
                    .find(|(_, value)| value.is_some())
            }
        };
        found.and_then(|(key, value)| Some((key.as_slice(), value.as_deref()?)))
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

#[cfg(test)]
mod tests;
