//! An overlay: changes over a snapshot, which is itself a snapshot, so that the same code reads both.
//!
//! An edit works on an overlay; its changes become the batch of the commit. The changes of a candidate are
//! shared by all readers, and copied when they are written to while others read.

mod absent_ranges;
mod changes;
mod key_map;
mod layered;
mod read_cache;
mod writer;

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};

pub(crate) use absent_ranges::AbsentRanges;
pub(crate) use changes::Changes;
pub(crate) use key_map::KeyMap;
pub(crate) use layered::Layered;
pub(crate) use read_cache::ReadCache;
pub(crate) use writer::ChangesWriter;

/// A snapshot with changes that are not committed.
pub(crate) struct Overlay {
    base: Base,
    /// Key ranges that are absent in the base.
    gaps: AbsentRanges,
    changes: Arc<Changes>,
}

/// The base of an overlay.
enum Base {
    Snapshot(Box<dyn Snapshot + Send>),
    Overlay(Box<Overlay>),
}

impl Overlay {
    /// No changes over `base`.
    pub fn new(base: Box<dyn Snapshot + Send>) -> Self {
        Self::with(base, Arc::default())
    }

    /// Changes over `base`.
    pub fn with(base: Box<dyn Snapshot + Send>, changes: Arc<Changes>) -> Self {
        Self {
            base: Base::Snapshot(base),
            gaps: AbsentRanges::default(),
            changes,
        }
    }

    /// An overlay without changes over another overlay.
    pub fn over(below: Self) -> Self {
        Self {
            base: Base::Overlay(Box::new(below)),
            gaps: AbsentRanges::default(),
            changes: Arc::default(),
        }
    }

    /// The overlay below and the changes above it, if the base is an overlay.
    pub fn into_base_overlay(self) -> Option<(Self, Arc<Changes>)> {
        match self.base {
            Base::Overlay(below) => Some((*below, self.changes)),
            Base::Snapshot(_) => None,
        }
    }

    /// The snapshot below, without the changes.
    pub fn into_base(self) -> Box<dyn Snapshot + Send> {
        match self.base {
            Base::Snapshot(base) => base,
            Base::Overlay(base) => base,
        }
    }

    /// The changes, shared: a savepoint for [`Self::replaced`].
    pub fn savepoint(&self) -> Arc<Changes> {
        Arc::clone(&self.changes)
    }

    /// The same overlay without changes, and the changes by themselves.
    pub fn split(mut self) -> (Self, Changes) {
        let changes = std::mem::take(&mut self.changes);
        (self, Arc::unwrap_or_clone(changes))
    }

    /// The value of a key that is probably absent, like its neighbours.
    pub fn get_new(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        match self.changes.get(key) {
            Some(written) => Ok(written.map(Cow::Borrowed)),
            None if self.changes.is_cleared(key) => Ok(None),
            None => self.get_from_base(key),
        }
    }

    /// The value of such a key in the base.
    pub fn get_from_base(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.gaps.get(self.base(), key)
    }

    /// The same base with other changes.
    pub fn replaced(mut self, changes: Arc<Changes>) -> Self {
        self.changes = changes;
        self
    }

    /// The snapshot below.
    pub fn base(&self) -> &dyn Snapshot {
        match &self.base {
            Base::Snapshot(base) => &**base,
            Base::Overlay(base) => &**base,
        }
    }

    /// The changes above.
    pub fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    fn changes_mut(&mut self) -> &mut Changes {
        Arc::make_mut(&mut self.changes)
    }

    fn layered(&self) -> Layered<'_> {
        Layered {
            base: self.base(),
            changes: &self.changes,
        }
    }

    /// Sets a key.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes_mut().put(key, value);
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.changes_mut().delete(key);
    }

    /// Deletes a range of keys.
    pub fn delete_range(&mut self, range: &KeyRange) {
        self.changes_mut().delete_range(range);
    }

    /// Applies later changes over these.
    pub fn apply(&mut self, later: &Changes) {
        self.changes_mut().apply(later);
    }

    /// The deleted ranges.
    pub fn cleared(&self) -> impl Iterator<Item = KeyRange> + '_ {
        self.changes.cleared()
    }

    /// The written keys, with their new values.
    pub fn written(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.changes.written()
    }

    /// Whether a key within a range is written.
    pub fn writes_in(&self, range: &KeyRange) -> bool {
        self.changes.writes_in(range)
    }

    /// Whether a key of the base is hidden by a deleted range.
    pub fn is_cleared(&self, key: &[u8]) -> bool {
        self.changes.is_cleared(key)
    }

    /// Whether a key is written (or individually deleted).
    pub fn has_written(&self, key: &[u8]) -> bool {
        self.changes.has_written(key)
    }
}

impl Snapshot for Overlay {
    fn version(&self) -> Version {
        self.base().version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.layered().value(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.layered().cursor(range, direction)
    }
}

#[cfg(test)]
mod tests;
