//! Key ranges that a streamed write has found to be empty, so that it need not query the server there.
//!
//! A load reads each key before it writes it, and most keys do not exist; each read would be a round trip. So a
//! read that finds nothing reads the next existing key instead, and stores the empty range before it.

use std::collections::BTreeMap;
use std::ops::Bound;

use espalier_keyspace::KeyRange;

/// The most ranges that are stored. Beyond that all are dropped.
const RANGES_MAX: usize = 1024;

/// Ranges without a key, from the first key (inclusive) to the second (exclusive; `None` is the end).
#[derive(Default)]
pub(in crate::postgres) struct EmptyRanges {
    ranges: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl EmptyRanges {
    /// Returns whether a key is in an empty range.
    pub(in crate::postgres) fn contains(&self, key: &[u8]) -> bool {
        self.around(key).is_some()
    }

    /// Adds the empty range from `start` to `end`.
    pub(in crate::postgres) fn insert(&mut self, start: &[u8], end: Option<&[u8]>) {
        if self.ranges.len() >= RANGES_MAX {
            self.ranges.clear();
        }
        // Ranges do not overlap, so `around` need only look at the nearest one before a key.
        if let Some((before, _)) = self.around(start) {
            let before = before.to_vec();
            self.ranges.remove(&before);
        }
        let is_covered = |key: &[u8]| key >= start && end.is_none_or(|end| key < end);
        let from_start = (Bound::Included(start), Bound::Unbounded);
        let covered = self.ranges.range::<[u8], _>(from_start);
        let covered = covered
            .map(|(key, _)| key)
            .take_while(|key| is_covered(key));
        for key in covered.cloned().collect::<Vec<_>>() {
            self.ranges.remove(&key);
        }
        self.ranges.insert(start.to_vec(), end.map(<[u8]>::to_vec));
    }

    /// Removes a key, which is set now: the range around it becomes two.
    pub(in crate::postgres) fn remove_key(&mut self, key: &[u8]) {
        let Some((start, end)) = self.around(key) else {
            return;
        };
        let (start, end) = (start.to_vec(), end.map(<[u8]>::to_vec));
        self.ranges.remove(&start);
        let after = [key, &[0]].concat();
        if !(KeyRange {
            start: after.clone(),
            end: end.clone(),
        })
        .is_empty()
        {
            self.ranges.insert(after, end);
        }
        // A load in key order does not return to the range before the key, so it is kept only while there is room.
        if start.as_slice() < key && self.ranges.len() < RANGES_MAX {
            self.ranges.insert(start, Some(key.to_vec()));
        }
    }

    fn around(&self, key: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        let before = (Bound::Unbounded, Bound::Included(key));
        let (start, end) = self.ranges.range::<[u8], _>(before).next_back()?;
        let is_before_end = end.as_deref().is_none_or(|end| key < end);
        is_before_end.then_some((start, end.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_range_is_filled_key_by_key() {
        let mut empty_ranges = EmptyRanges::default();
        assert!(!empty_ranges.contains(b"b"));
        empty_ranges.insert(b"b", Some(b"f"));
        assert!(empty_ranges.contains(b"b") && empty_ranges.contains(b"e\xff"));
        assert!(!empty_ranges.contains(b"a") && !empty_ranges.contains(b"f"));
        empty_ranges.remove_key(b"d");
        assert!(
            empty_ranges.contains(b"c")
                && !empty_ranges.contains(b"d")
                && empty_ranges.contains(b"d\0")
        );
        empty_ranges.remove_key(b"b");
        empty_ranges.remove_key(b"x");
        assert!(!empty_ranges.contains(b"b") && empty_ranges.contains(b"b\0"));
        empty_ranges.insert(b"x", None);
        assert!(empty_ranges.contains(b"\xff"));
        empty_ranges.insert(b"y", Some(b"z"));
        empty_ranges.remove_key(b"zz");
        assert!(!empty_ranges.contains(b"zz"), "ranges do not overlap");
    }

    #[test]
    fn the_number_of_ranges_is_limited() {
        let mut empty_ranges = EmptyRanges::default();
        empty_ranges.insert(b"", None);
        for number in 0..10_000u32 {
            let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
            empty_ranges.remove_key(&key);
            assert!(!empty_ranges.contains(&key));
        }
        assert!(empty_ranges.ranges.len() <= RANGES_MAX + 1);
    }
}
