//! What commits changed since the tree was made.

use std::sync::Arc;

use espalier_keyspace::{ByteMap, Direction, KeyRange};

use crate::range_set::RangeSet;
use crate::recent_commits::{ChangeRef, Changes};

/// The key is absent.
const ABSENT: &[u8] = &[0];

/// Before the value of a key that is there.
const THERE: u8 = 1;

/// Bytes of values that are put together without memory of their own.
const SHORT: usize = 128;

/// What a deleted range takes beside its keys, about.
const RANGE_BYTES: usize = 64;

/// Changes of a tree: keys that are set or absent, and ranges of which the tree's rows are gone.
#[derive(Clone, Default)]
pub(in crate::mongo) struct Overlay {
    own: ByteMap,
    gone: Arc<RangeSet>,
    /// How often something was said.
    said: usize,
    gone_bytes: usize,
}

impl Overlay {
    /// What it says of a key: its value, that it is absent, or nothing.
    pub(in crate::mongo) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match self.own.get(key) {
            Some(own) => Some(value_of(own)),
            None => self.gone.around(key).map(|_| None),
        }
    }

    pub(in crate::mongo) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.said += 1;
        let mut short = [THERE; 1 + SHORT];
        match short.get_mut(1..=value.len()) {
            Some(place) => {
                place.copy_from_slice(value);
                self.own.insert(key, &short[..=value.len()]);
            }
            None => self.own.insert(key, &[&[THERE], value].concat()),
        }
    }

    pub(in crate::mongo) fn delete(&mut self, key: &[u8]) {
        self.said += 1;
        self.own.insert(key, ABSENT);
    }

    pub(in crate::mongo) fn delete_range(&mut self, range: &KeyRange) {
        self.said += 1;
        self.own.remove_range(range);
        self.gone_bytes += RANGE_BYTES + range.start.len() + range.end.as_ref().map_or(0, Vec::len);
        Arc::make_mut(&mut self.gone).insert(range);
    }

    /// With what a commit changed after it.
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

    /// Bytes of all that it says, about.
    pub(in crate::mongo) fn bytes(&self) -> usize {
        self.own.bytes() + self.gone_bytes
    }

    /// How often something was said since it was empty.
    pub(in crate::mongo) fn said(&self) -> usize {
        self.said
    }

    /// The keys of a range that it sets or that are absent by themselves, with what they hold.
    pub(in crate::mongo) fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
    ) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> + use<'_> {
        let pairs = self.own.scan(range, direction);
        pairs.map(|(key, own)| (key, value_of(own)))
    }

    /// Whether rows of the tree at a key are gone.
    pub(in crate::mongo) fn is_gone(&self, key: &[u8]) -> bool {
        self.gone.around(key).is_some()
    }

    /// How a range begins, read in a direction, as far as the tree's rows are gone there; `None` where
    /// they are not.
    pub(in crate::mongo) fn gone_first(
        &self,
        range: &KeyRange,
        direction: Direction,
    ) -> Option<KeyRange> {
        let (start, end) = match direction {
            Direction::Forward => self.gone.around(&range.start)?,
            Direction::Backward => self.gone.around_end(range.end.as_deref())?,
        };
        Some(range.intersection(&KeyRange {
            start: start.to_vec(),
            end: end.map(<[u8]>::to_vec),
        }))
    }

    /// Whether nothing of the tree in a range is left, and nothing new is there.
    pub(super) fn clears(&self, range: &KeyRange) -> bool {
        self.gone.covers(range) && !self.own.has_any(range)
    }

    /// Whether it says anything of a range.
    pub(super) fn touches(&self, range: &KeyRange) -> bool {
        self.own.has_any(range) || self.gone.overlaps(range)
    }
}

fn value_of(own: &[u8]) -> Option<&[u8]> {
    match own.split_first() {
        Some((&THERE, value)) => Some(value),
        _ => None,
    }
}
