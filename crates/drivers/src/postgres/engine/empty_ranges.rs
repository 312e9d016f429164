//! Key ranges that a streamed write has found to be empty, so that it need not query the server there.
//!
//! A load reads each key before it writes it, and most keys do not exist; each read would be a round trip. So a
//! read that finds nothing reads the next existing key instead, and stores the empty range before it.

use espalier_keyspace::KeyRange;

use crate::range_set::RangeSet;

/// The most ranges that are stored. Beyond that all are dropped.
const RANGES_MAX: usize = 1024;

/// Ranges without a key.
#[derive(Default)]
pub(in crate::postgres) struct EmptyRanges {
    ranges: RangeSet,
}

impl EmptyRanges {
    /// Returns whether a key is in an empty range.
    pub(in crate::postgres) fn contains(&self, key: &[u8]) -> bool {
        self.ranges.around(key).is_some()
    }

    /// Adds the empty range from `start` to `end`.
    pub(in crate::postgres) fn insert(&mut self, start: &[u8], end: Option<&[u8]>) {
        if self.ranges.len() >= RANGES_MAX {
            self.ranges = RangeSet::default();
        }
        self.ranges.insert(&KeyRange {
            start: start.to_vec(),
            end: end.map(<[u8]>::to_vec),
        });
    }

    /// Removes a key, which is set now: the range around it becomes two.
    pub(in crate::postgres) fn remove_key(&mut self, key: &[u8]) {
        let Some(KeyRange { start, end }) = self.ranges.take_around(key) else {
            return;
        };
        self.ranges.insert(&KeyRange {
            start: [key, &[0]].concat(),
            end,
        });
        // A load in key order does not return to the range before the key, so it is kept only while there is room.
        if self.ranges.len() < RANGES_MAX {
            self.ranges.insert(&KeyRange::new(start, key));
        }
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
