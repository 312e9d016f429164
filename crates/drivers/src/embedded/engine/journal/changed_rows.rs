//! In-memory rows over those of LMDB: what was changed since the last merge. A key has an entry, which is a value or a
//! mark that it was deleted; or it is in a removed range; or it is unchanged.

use std::borrow::Cow;

use espalier_keyspace::{ByteMap, ByteMapCursor, Direction, KeyRange};

use super::removed_ranges::{self, RemovedRanges};

/// The first byte of an entry with a value.
const PUT: u8 = 1;

/// The entry of a deleted key.
const DELETED: &[u8] = &[0];

/// Changed rows. Cloning takes constant time.
#[derive(Clone, Default)]
pub(in crate::embedded) struct ChangedRows {
    /// The removed ranges. Entries in them take precedence.
    removed: RemovedRanges,
    entries: ByteMap,
}

/// A change, as stored in a frame.
pub(in crate::embedded) enum RowChange<'a> {
    /// Every key of a range is removed, before the other changes.
    Removed(KeyRange),
    /// A key has a value.
    Put(&'a [u8], &'a [u8]),
    /// A key is deleted.
    Deleted(&'a [u8]),
}

impl<'a> RowChange<'a> {
    /// Decodes a change; `None` if it is invalid.
    pub(super) fn decode(key: &'a [u8], entry: &'a [u8]) -> Option<Self> {
        match entry {
            [PUT, value @ ..] => Some(Self::Put(key, value)),
            DELETED => Some(Self::Deleted(key)),
            _ => removed_ranges::range_of(key, entry).map(Self::Removed),
        }
    }
}

impl ChangedRows {
    /// No changes.
    pub(in crate::embedded) fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is changed.
    pub(in crate::embedded) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.removed.is_empty()
    }

    /// The number of entries and ranges.
    pub(super) fn len(&self) -> usize {
        self.entries.len() + self.removed.len()
    }

    /// Bytes of all entries and ranges.
    pub(in crate::embedded) fn bytes(&self) -> usize {
        self.entries.bytes() + self.removed.bytes()
    }

    /// Sets a key to a value.
    pub(in crate::embedded) fn put(&mut self, key: &[u8], value: &[u8]) {
        let mut entry = Vec::with_capacity(1 + value.len());
        entry.push(PUT);
        entry.extend_from_slice(value);
        self.entries.insert(key, &entry);
    }

    /// Deletes a key. A key after a removed range extends it.
    pub(in crate::embedded) fn delete(&mut self, key: &[u8]) {
        let end = self.removed.floor(key).map(|(_, end)| end);
        match end {
            Some(end) if end.is_none_or(|end| key < end) => _ = self.entries.remove(key),
            Some(Some(end)) if end == key => {
                self.remove_range(&KeyRange::new(key, [key, &[0]].concat()));
            }
            _ => self.entries.insert(key, DELETED),
        }
    }

    /// Removes every key of a range.
    pub(in crate::embedded) fn remove_range(&mut self, range: &KeyRange) {
        self.entries.remove_range(range);
        self.removed.insert(range);
    }

    /// Makes one removed range of a range that was found to have no keys, unless one was put since.
    pub(super) fn join(&mut self, range: &KeyRange) {
        let mut entries = self.entries.scan(range, Direction::Forward);
        if entries.all(|(_, entry)| value_of(entry).is_none()) {
            self.remove_range(range);
        }
    }

    /// Makes further changes.
    pub(super) fn apply(&mut self, further: &Self) {
        for range in further.removed.iter() {
            self.remove_range(&range);
        }
        for (key, entry) in &further.entries {
            match value_of(entry) {
                Some(_) => self.entries.insert(key, entry),
                None => self.delete(key),
            }
        }
    }

    /// Makes a change of a frame.
    pub(super) fn apply_change(&mut self, change: RowChange<'_>) {
        match change {
            RowChange::Removed(range) => self.remove_range(&range),
            RowChange::Put(key, value) => self.put(key, value),
            RowChange::Deleted(key) => self.delete(key),
        }
    }

    /// Each change as the key and the entry of a frame: the removed ranges, then the others.
    pub(super) fn encoded(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.removed.entries().chain(&self.entries)
    }

    /// Each change: the removed ranges, then the others.
    pub(super) fn changes(&self) -> impl Iterator<Item = RowChange<'_>> {
        self.encoded()
            .filter_map(|(key, entry)| RowChange::decode(key, entry))
    }

    /// The new value of a key, if it is changed.
    fn lookup(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match self.entries.get(key) {
            Some(entry) => Some(value_of(entry)),
            None if self.removed.is_empty() => None,
            None => self.removed.around(key).map(|_| None),
        }
    }

    /// Whether any key of a range is changed.
    pub(super) fn overlaps(&self, range: &KeyRange) -> bool {
        self.entries.has_any(range) || self.removed.overlaps(range)
    }

    /// A cursor over the entries of a range.
    pub(super) fn entries(&self, range: &KeyRange, direction: Direction) -> ByteMapCursor<'_> {
        self.entries.scan(range, direction)
    }

    /// The removed ranges.
    pub(super) fn removed(&self) -> &RemovedRanges {
        &self.removed
    }
}

/// The value of an entry; `None` for a deletion.
pub(super) fn value_of(entry: &[u8]) -> Option<&[u8]> {
    match entry {
        [PUT, value @ ..] => Some(value),
        _ => None,
    }
}

/// The value of a key from the first of `layers` in which it is changed; calls `lower` if it is in none.
pub(in crate::embedded) fn lookup<'a, E>(
    layers: [Option<&'a ChangedRows>; 3],
    key: &[u8],
    lower: impl FnOnce() -> std::result::Result<Option<&'a [u8]>, E>,
) -> std::result::Result<Option<Cow<'a, [u8]>>, E> {
    let changed = layers
        .into_iter()
        .flatten()
        .find_map(|rows| rows.lookup(key));
    let value = match changed {
        Some(value) => value,
        None => lower()?,
    };
    Ok(value.map(Cow::Borrowed))
}
