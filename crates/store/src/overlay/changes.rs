//! A set of changes to keys, independent of the base.

use std::collections::BTreeMap;
use std::ops::Bound;

use espalier_keyspace::KeyRange;

use super::key_map::KeyMap;

/// Keys that are set or deleted, and deleted ranges. The order of the changes is resolved: deleted ranges
/// hide keys of the base, and written keys are visible over them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Every key that was written; `None` is deleted.
    written: KeyMap<Option<Vec<u8>>>,
    /// Deleted ranges, by start; they do not overlap. They hide keys of the base only.
    cleared: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Changes {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty() && self.cleared.is_empty()
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
        self.discard_written(range);
        self.clear(range);
    }

    /// Discards the change of a key.
    pub fn forget(&mut self, key: &[u8]) {
        self.written.remove(key);
    }

    /// Discards the written keys in a range; deleted ranges still hide keys of the base.
    pub fn discard_written(&mut self, range: &KeyRange) {
        let inside: Vec<Vec<u8>> = self
            .written_in(range)
            .map(|(key, _)| key.to_vec())
            .collect();
        for key in inside {
            self.written.remove(&key);
        }
    }

    /// Discards all changes in a range.
    pub fn discard_range(&mut self, range: &KeyRange) {
        self.discard_written(range);
        self.discard_cleared(range);
    }

    /// Discards the deleted ranges within a range.
    pub fn discard_cleared(&mut self, range: &KeyRange) {
        for hidden in self.cleared_in(range) {
            self.cleared.remove(&hidden.start);
            if hidden.start < range.start {
                self.cleared.insert(hidden.start, Some(range.start.clone()));
            }
            let Some(end) = &range.end else { continue };
            if hidden.end.as_ref().is_none_or(|hidden| hidden > end) {
                self.cleared.insert(end.clone(), hidden.end);
            }
        }
    }

    /// The cleared ranges that share keys with a range.
    pub fn cleared_in(&self, range: &KeyRange) -> Vec<KeyRange> {
        let last = range.end.clone().map_or(Bound::Unbounded, Bound::Excluded);
        if range.is_empty() {
            return Vec::new();
        }
        self.cleared
            .range::<Vec<u8>, _>((Bound::Unbounded, last))
            .rev()
            .take_while(|(_, end)| end.as_ref().is_none_or(|end| *end > range.start))
            .map(|(start, end)| KeyRange {
                start: start.clone(),
                end: end.clone(),
            })
            .collect()
    }

    /// The cleared ranges that share keys with a range or are adjacent to it.
    pub fn cleared_touching(&self, range: &KeyRange) -> Vec<KeyRange> {
        let last = range.end.clone().map_or(Bound::Unbounded, Bound::Included);
        self.cleared
            .range::<Vec<u8>, _>((Bound::Unbounded, last))
            .rev()
            .take_while(|(_, end)| end.as_ref().is_none_or(|end| *end >= range.start))
            .map(|(start, end)| KeyRange {
                start: start.clone(),
                end: end.clone(),
            })
            .collect()
    }

    /// Applies later changes over these.
    pub fn apply(&mut self, later: &Self) {
        for range in later.cleared() {
            self.delete_range(&range);
        }
        for (key, value) in later.written.iter() {
            self.written.insert(key.to_vec(), value.clone());
        }
    }

    /// Hides the keys of the base in a range; keys written in it stay visible.
    pub fn hide(&mut self, range: &KeyRange) {
        if !range.is_empty() {
            self.clear(range);
        }
    }

    /// Adds a range to the cleared ones and merges it with adjacent and overlapping ones.
    fn clear(&mut self, range: &KeyRange) {
        let touching = self.cleared_touching(range);
        let KeyRange { mut start, mut end } = range.clone();
        for other in touching {
            self.cleared.remove(&other.start);
            start = start.min(other.start);
            end = end.zip(other.end).map(|(end, other)| end.max(other));
        }
        self.cleared.insert(start, end);
    }

    /// The cleared range that hides a key.
    pub fn cleared_around(&self, key: &[u8]) -> Option<KeyRange> {
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

    /// The deleted ranges.
    pub fn cleared(&self) -> impl Iterator<Item = KeyRange> + '_ {
        self.cleared.iter().map(|(start, end)| KeyRange {
            start: start.clone(),
            end: end.clone(),
        })
    }

    /// The written keys, with their new values.
    pub fn written(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.written
            .iter()
            .map(|(key, value)| (key, value.as_deref()))
    }

    /// How many keys are written.
    pub fn written_len(&self) -> usize {
        self.written.len()
    }

    /// The written keys, with their new values, by value.
    pub fn into_written(self) -> impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)> {
        self.written.into_entries()
    }

    /// The keys written within a range, with their new values.
    pub fn written_in<'a>(
        &'a self,
        range: &'a KeyRange,
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        self.between(Bound::Included(&range.start), Bound::Unbounded)
            .take_while(|(key, _)| range.is_before_end(key))
    }

    /// The keys written between two bounds, with their new values.
    pub fn between<'a>(
        &'a self,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], Option<&'a [u8]>)> + use<'a> {
        self.written
            .range(start, end)
            .map(|(key, value)| (key, value.as_deref()))
    }

    /// The change of a key: `None` if there is none, `Some(None)` if it is deleted.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.written.get(key).map(Option::as_deref)
    }

    /// Whether a key within a range is written.
    pub fn writes_in(&self, range: &KeyRange) -> bool {
        self.written_in(range).next().is_some()
    }

    /// Whether a key is written (or individually deleted).
    pub fn has_written(&self, key: &[u8]) -> bool {
        self.written.contains_key(key)
    }

    /// Whether a key of the base is hidden by a deleted range.
    pub fn is_cleared(&self, key: &[u8]) -> bool {
        self.cleared_around(key).is_some()
    }
}
