//! Changes laid over a snapshot: a snapshot itself, so that whatever reads the one reads the other.
//!
//! An edit works on an overlay, and becomes a batch of what differs from the snapshot below. The
//! changes of a candidate are shared by everybody who reads it, and copied by the first who writes
//! while others read.

mod changes;
mod gap;
mod key_map;
mod layered;
mod read_once;
mod writer;

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};

pub(crate) use changes::Changes;
pub(crate) use gap::Gaps;
pub(crate) use key_map::KeyMap;
pub(crate) use layered::Layered;
pub(crate) use read_once::ReadOnce;
pub(crate) use writer::ChangesWriter;

/// A snapshot with changes that are not committed.
pub(crate) struct Overlay {
    base: Base,
    /// What is known to be absent in the base.
    gaps: Gaps,
    changes: Arc<Changes>,
}

/// What an overlay is over.
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
            gaps: Gaps::default(),
            changes,
        }
    }

    /// No changes over an overlay.
    pub fn over(below: Self) -> Self {
        Self {
            base: Base::Overlay(Box::new(below)),
            gaps: Gaps::default(),
            changes: Arc::default(),
        }
    }

    /// The overlay that this is over, where it is over one, and the changes above it.
    pub fn into_below(self) -> Option<(Self, Arc<Changes>)> {
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

    /// The changes, to come back to.
    pub fn shared_changes(&self) -> Arc<Changes> {
        Arc::clone(&self.changes)
    }

    /// The same overlay without changes, and the changes by themselves.
    pub fn split(mut self) -> (Self, Changes) {
        let changes = std::mem::take(&mut self.changes);
        (self, Arc::unwrap_or_clone(changes))
    }

    /// The value of a key that is probably new, as its neighbours are.
    pub fn get_new(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        match self.changes.get(key) {
            Some(written) => Ok(written.map(Cow::Borrowed)),
            None if self.changes.is_cleared(key) => Ok(None),
            None => self.get_below(key),
        }
    }

    /// What such a key holds in the snapshot below.
    pub fn get_below(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.gaps.get(self.base(), key)
    }

    /// The same snapshot below, with other changes.
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

    fn changing(&mut self) -> &mut Changes {
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
        self.changing().put(key, value);
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.changing().delete(key);
    }

    /// Deletes a range of keys.
    pub fn delete_range(&mut self, range: &KeyRange) {
        self.changing().delete_range(range);
    }

    /// Lays later changes over these.
    pub fn apply(&mut self, later: &Changes) {
        self.changing().apply(later);
    }

    /// The ranges deleted as a whole.
    pub fn cleared(&self) -> impl Iterator<Item = KeyRange> + '_ {
        self.changes.cleared()
    }

    /// The keys written, with what they hold now.
    pub fn written(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.changes.written()
    }

    /// Whether a key is written within a range.
    pub fn writes_in(&self, range: &KeyRange) -> bool {
        self.changes.writes_in(range)
    }

    /// Whether a key of the base is hidden by a deleted range.
    pub fn is_cleared(&self, key: &[u8]) -> bool {
        self.changes.is_cleared(key)
    }

    /// Whether a key is written (or deleted by itself).
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
