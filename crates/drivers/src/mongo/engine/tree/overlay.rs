//! The overlay: the changes of commits since the tree was written.

use std::sync::Arc;

use espalier_keyspace::{ByteMap, Direction, KeyRange};

use crate::range_set::RangeSet;
use crate::recent_commits::{ChangeRef, Changes};

/// Marks a deleted key.
const ABSENT: &[u8] = &[0];

/// Precedes the value of a key.
const PRESENT: u8 = 1;

/// Values up to this length are encoded on the stack.
const SHORT: usize = 128;

/// Approximate memory of a deleted range in addition to its keys.
const RANGE_BYTES: usize = 64;

/// Changes of a tree: keys that are set or deleted, and ranges in which the tree's rows are deleted (cleared).
#[derive(Clone, Default)]
pub(in crate::mongo) struct Overlay {
    entries: ByteMap,
    cleared: Arc<RangeSet>,
    /// Changes since it was empty.
    change_count: usize,
    cleared_bytes: usize,
}

impl Overlay {
    /// The new value of a key, `Some(None)` if it is deleted, and `None` if it is unchanged.
    pub(in crate::mongo) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match self.entries.get(key) {
            Some(entry) => Some(value_of(entry)),
            None => self.cleared.around(key).map(|_| None),
        }
    }

    pub(in crate::mongo) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.change_count += 1;
        let mut short = [PRESENT; 1 + SHORT];
        match short.get_mut(1..=value.len()) {
            Some(copy) => {
                copy.copy_from_slice(value);
                self.entries.insert(key, &short[..=value.len()]);
            }
            None => self.entries.insert(key, &[&[PRESENT], value].concat()),
        }
    }

    pub(in crate::mongo) fn delete(&mut self, key: &[u8]) {
        self.change_count += 1;
        self.entries.insert(key, ABSENT);
    }

    pub(in crate::mongo) fn delete_range(&mut self, range: &KeyRange) {
        self.change_count += 1;
        self.entries.remove_range(range);
        self.cleared_bytes +=
            RANGE_BYTES + range.start.len() + range.end.as_ref().map_or(0, Vec::len);
        Arc::make_mut(&mut self.cleared).insert(range);
    }

    /// The overlay after further changes.
    pub(in crate::mongo) fn with(&self, changes: Option<&Changes>) -> Self {
        let mut overlay = self.clone();
        for change in changes.into_iter().flat_map(Changes::iter) {
            match change {
                ChangeRef::Put(key, value) => overlay.put(key, value),
                ChangeRef::Delete(key) => overlay.delete(key),
                ChangeRef::DeleteRange(start, end) => overlay.delete_range(&KeyRange {
                    start: start.to_vec(),
                    end: end.map(<[u8]>::to_vec),
                }),
            }
        }
        overlay
    }

    /// Approximate bytes of all changes.
    pub(in crate::mongo) fn bytes(&self) -> usize {
        self.entries.bytes() + self.cleared_bytes
    }

    /// Number of changes since it was empty.
    pub(in crate::mongo) fn change_count(&self) -> usize {
        self.change_count
    }

    /// The keys of a range that are set or deleted one by one, with the new values.
    pub(in crate::mongo) fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
    ) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> + use<'_> {
        let pairs = self.entries.scan(range, direction);
        pairs.map(|(key, entry)| (key, value_of(entry)))
    }

    /// Whether the tree's row of a key is deleted as part of a range.
    pub(in crate::mongo) fn is_cleared(&self, key: &[u8]) -> bool {
        self.cleared.around(key).is_some()
    }

    /// The first part of a range, in a direction, in which the tree's rows are deleted; `None` if the range does
    /// not start with one.
    pub(in crate::mongo) fn leading_cleared(
        &self,
        range: &KeyRange,
        direction: Direction,
    ) -> Option<KeyRange> {
        let (start, end) = match direction {
            Direction::Forward => self.cleared.around(&range.start)?,
            Direction::Backward => self.cleared.around_end(range.end.as_deref())?,
        };
        Some(range.intersection(&KeyRange {
            start: start.to_vec(),
            end: end.map(<[u8]>::to_vec),
        }))
    }

    /// Whether all rows of the tree in a range are deleted, and none are set.
    pub(super) fn clears(&self, range: &KeyRange) -> bool {
        self.cleared.covers(range) && !self.entries.has_any(range)
    }

    /// Whether any row of a range is set or deleted.
    pub(super) fn has_changes(&self, range: &KeyRange) -> bool {
        self.entries.has_any(range) || self.cleared.overlaps(range)
    }
}

fn value_of(entry: &[u8]) -> Option<&[u8]> {
    match entry.split_first() {
        Some((&PRESENT, value)) => Some(value),
        _ => None,
    }
}
