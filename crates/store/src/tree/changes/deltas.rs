//! Iterates over the keys in which two states differ, in key order.

use std::ops::Bound;

use espalier_keyspace::{Cursor, Direction, KeyRange, Snapshot};

use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::{AbsentRanges, Changes, Overlay};
use crate::tree::locate::TreeState;

/// Which of two layered states is the newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewerState {
    /// The upper one: a proposed commit.
    Upper,
    /// The lower one: the changes lead back in time.
    Lower,
}

/// Two states of one tree, one layered over the other by changes.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<'a> {
    pub compiled: &'a Compiled,
    pub tree: TreeId,
    pub lower: &'a dyn Snapshot,
    pub changes: &'a Changes,
    pub upper: &'a dyn Snapshot,
    pub newer_state: NewerState,
}

/// The key of the same node in both states; none if it is absent in a state.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyPair {
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

impl KeyPair {
    /// The same key in both states.
    pub fn both(key: &[u8]) -> Self {
        Self {
            before: Some(key.to_vec()),
            after: Some(key.to_vec()),
        }
    }

    /// Appends `rest` to both keys.
    pub fn below(&self, rest: &[u8]) -> Self {
        let join = |key: &Option<Vec<u8>>| key.as_ref().map(|key| [key, rest].concat());
        Self {
            before: join(&self.before),
            after: join(&self.after),
        }
    }

    /// Maps both keys.
    pub fn map(&self, change: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        Self {
            before: self.before.as_deref().map(&change),
            after: self.after.as_deref().map(&change),
        }
    }
}

/// A changed key: the part after the keys of the sides, with both values.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    pub rest: Vec<u8>,
    pub old: Option<Vec<u8>>,
    pub new: Option<Vec<u8>>,
}

/// An iterator over the keys in which two ranges differ, in order.
pub(crate) trait Deltas {
    /// Reads the next one; false past the end.
    fn next(&mut self, delta: &mut Delta) -> Result<bool>;

    /// Continues with the first key whose rest is not before `rest`; `None` ends the iteration.
    fn seek(&mut self, rest: Option<&[u8]>) -> Result<()>;
}

impl<'a> Comparison<'a> {
    /// Compares an overlay with its base.
    pub fn new(
        compiled: &'a Compiled,
        tree: TreeId,
        overlay: &'a Overlay,
        newer_state: NewerState,
    ) -> Self {
        Self {
            compiled,
            tree,
            lower: overlay.base(),
            changes: overlay.changes(),
            upper: overlay,
            newer_state,
        }
    }

    /// The older state.
    pub fn before(&self) -> TreeState<'a> {
        self.state(match self.newer_state {
            NewerState::Upper => self.lower,
            NewerState::Lower => self.upper,
        })
    }

    /// The newer state.
    pub fn after(&self) -> TreeState<'a> {
        self.state(match self.newer_state {
            NewerState::Upper => self.upper,
            NewerState::Lower => self.lower,
        })
    }

    fn state(&self, snapshot: &'a dyn Snapshot) -> TreeState<'a> {
        TreeState::new(snapshot, self.compiled, self.tree)
    }

    /// The differing keys below the key of a node in both states.
    pub(super) fn deltas(&self, sides: &KeyPair) -> Result<Box<dyn Deltas + 'a>> {
        match (&sides.before, &sides.after) {
            (Some(before), Some(after)) if before == after => Ok(Box::new(OverlayDeltas::new(
                *self,
                KeyRange::prefix(after),
                after.len(),
            )?)),
            _ => Ok(Box::new(TwoRangeDeltas::new(*self, sides)?)),
        }
    }

    /// The differing keys in a range; the deltas contain whole keys.
    pub fn keys_in(&self, range: &KeyRange) -> Result<impl Deltas + use<'a>> {
        OverlayDeltas::new(*self, range.clone(), 0)
    }
}

/// A key with its written value.
type Written<'a> = (&'a [u8], Option<&'a [u8]>);

/// The changes of an overlay in a range.
struct OverlayDeltas<'a> {
    comparison: Comparison<'a>,
    range: KeyRange,
    /// The length of the common prefix of all keys.
    prefix: usize,
    cleared: std::vec::IntoIter<KeyRange>,
    cursor: Option<Box<dyn Cursor + 'a>>,
    /// The next key of a deleted range.
    deleted: Option<(Vec<u8>, Vec<u8>)>,
    written: Box<dyn Iterator<Item = Written<'a>> + 'a>,
    next_written: Option<Written<'a>>,
    /// Ranges without keys in the lower state.
    gaps: AbsentRanges,
}

impl<'a> OverlayDeltas<'a> {
    fn new(comparison: Comparison<'a>, range: KeyRange, prefix: usize) -> Result<Self> {
        let changes = comparison.changes;
        let start = Bound::Included(range.start.as_slice());
        let end = match range.end.as_deref() {
            Some(end) => Bound::Excluded(end.max(&range.start)),
            None => Bound::Unbounded,
        };
        let mut written = changes.between(start, end);
        let mut cleared: Vec<KeyRange> = changes.cleared_in(&range);
        cleared.sort_by(|one, other| one.start.cmp(&other.start));
        cleared
            .iter_mut()
            .for_each(|part| *part = part.intersection(&range));
        let mut changed = Self {
            comparison,
            prefix,
            cleared: cleared.into_iter(),
            cursor: None,
            deleted: None,
            next_written: written.next(),
            written: Box::new(written),
            range,
            gaps: AbsentRanges::default(),
        };
        changed.read_deleted()?;
        Ok(changed)
    }

    /// Reads the next key of the deleted ranges; rewritten keys are reported as written.
    fn read_deleted(&mut self) -> Result<()> {
        loop {
            if self.cursor.is_none() {
                let Some(range) = self.cleared.next() else {
                    self.deleted = None;
                    return Ok(());
                };
                let base = self.comparison.lower;
                self.cursor = Some(base.scan(&range, Direction::Forward)?);
            }
            let Some(cursor) = &mut self.cursor else {
                continue;
            };
            match cursor.next()? {
                None => self.cursor = None,
                Some((key, _)) if self.comparison.changes.has_written(key) => {}
                Some((key, value)) => {
                    self.deleted = Some((key.to_vec(), value.to_vec()));
                    return Ok(());
                }
            }
        }
    }

    fn fill(&self, delta: &mut Delta, key: &[u8], lower: Option<Vec<u8>>, upper: Option<Vec<u8>>) {
        delta.rest.clear();
        delta.rest.extend_from_slice(&key[self.prefix..]);
        (delta.old, delta.new) = match self.comparison.newer_state {
            NewerState::Upper => (lower, upper),
            NewerState::Lower => (upper, lower),
        };
    }
}

impl Deltas for OverlayDeltas<'_> {
    fn next(&mut self, delta: &mut Delta) -> Result<bool> {
        loop {
            let takes_deleted = match (&self.deleted, &self.next_written) {
                (None, None) => return Ok(false),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some((deleted, _)), Some((written, _))) => deleted.as_slice() < *written,
            };
            if takes_deleted {
                if let Some((key, value)) = self.deleted.take() {
                    self.fill(delta, &key, Some(value), None);
                }
                self.read_deleted()?;
                return Ok(true);
            }
            let Some((key, upper)) = self.next_written.take() else {
                return Ok(false);
            };
            self.next_written = self.written.next();
            let lower = self.gaps.get(self.comparison.lower, key)?;
            if lower.as_deref() != upper {
                let lower = lower.map(std::borrow::Cow::into_owned);
                self.fill(delta, key, lower, upper.map(<[u8]>::to_vec));
                return Ok(true);
            }
        }
    }

    fn seek(&mut self, rest: Option<&[u8]>) -> Result<()> {
        let start = match rest {
            Some(rest) => [&self.range.start[..self.prefix], rest].concat(),
            None => {
                (self.deleted, self.next_written, self.cursor) = (None, None, None);
                self.cleared = Vec::new().into_iter();
                return Ok(());
            }
        };
        let end = self.range.end.clone();
        *self = Self::new(self.comparison, KeyRange { start, end }, self.prefix)?;
        Ok(())
    }
}

/// One of two ranges that are read in parallel.
struct RangeReader<'a> {
    key: Vec<u8>,
    cursor: Box<dyn Cursor + 'a>,
    /// The rest of the next key, and its value.
    next: Option<(Vec<u8>, Vec<u8>)>,
}

impl<'a> RangeReader<'a> {
    fn new(state: TreeState<'a>, key: &[u8]) -> Result<Self> {
        let mut side = Self {
            key: key.to_vec(),
            cursor: state
                .snapshot
                .scan(&KeyRange::prefix(key), Direction::Forward)?,
            next: None,
        };
        side.read()?;
        Ok(side)
    }

    fn read(&mut self) -> Result<()> {
        let length = self.key.len();
        let next = self.cursor.next()?;
        self.next = next.map(|(key, value)| (key[length..].to_vec(), value.to_vec()));
        Ok(())
    }

    fn seek(&mut self, rest: Option<&[u8]>) -> Result<()> {
        match rest {
            Some(rest) => {
                self.cursor.seek(&[&self.key, rest].concat())?;
                self.read()
            }
            None => {
                self.next = None;
                Ok(())
            }
        }
    }
}

/// Two ranges read in parallel.
struct TwoRangeDeltas<'a> {
    before: Option<RangeReader<'a>>,
    after: Option<RangeReader<'a>>,
}

impl<'a> TwoRangeDeltas<'a> {
    fn new(comparison: Comparison<'a>, sides: &KeyPair) -> Result<Self> {
        let open = |state, key: &Option<Vec<u8>>| {
            key.as_deref()
                .map(|key| RangeReader::new(state, key))
                .transpose()
        };
        Ok(Self {
            before: open(comparison.before(), &sides.before)?,
            after: open(comparison.after(), &sides.after)?,
        })
    }
}

/// Takes the value of a side at `rest`.
fn take(side: &mut Option<RangeReader<'_>>, rest: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(side) = side else { return Ok(None) };
    match side.next.take() {
        Some((key, value)) if key == rest => {
            side.read()?;
            Ok(Some(value))
        }
        other => {
            side.next = other;
            Ok(None)
        }
    }
}

impl Deltas for TwoRangeDeltas<'_> {
    fn next(&mut self, delta: &mut Delta) -> Result<bool> {
        loop {
            let next = |side: &Option<RangeReader<'_>>| {
                let (rest, _) = side.as_ref()?.next.as_ref()?;
                Some(rest.clone())
            };
            delta.rest = match (next(&self.before), next(&self.after)) {
                (None, None) => return Ok(false),
                (Some(before), Some(after)) => before.min(after),
                (before, after) => before.or(after).unwrap_or_default(),
            };
            delta.old = take(&mut self.before, &delta.rest)?;
            delta.new = take(&mut self.after, &delta.rest)?;
            if delta.old != delta.new {
                return Ok(true);
            }
        }
    }

    fn seek(&mut self, rest: Option<&[u8]>) -> Result<()> {
        for side in [&mut self.before, &mut self.after].into_iter().flatten() {
            side.seek(rest)?;
        }
        Ok(())
    }
}
