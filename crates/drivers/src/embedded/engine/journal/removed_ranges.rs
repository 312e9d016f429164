//! Removed ranges of keys: disjoint, and no two are adjacent. Cloning takes constant time.

use espalier_keyspace::{ByteMap, Direction, KeyRange};

/// The first byte of the entry of a range with an end; the end follows.
const UNTIL: u8 = 2;

/// The entry of a range without an end.
const REST: u8 = 3;

/// A range: its first key, and the first key after it, if there is one.
pub(super) type Bounds<'a> = (&'a [u8], Option<&'a [u8]>);

/// The removed ranges.
#[derive(Clone, Default)]
pub(super) struct RemovedRanges {
    /// The entry of each range, by its first key.
    entries: ByteMap,
}

impl RemovedRanges {
    /// Adds every key of a range.
    pub(super) fn insert(&mut self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let mut merged = range.clone();
        if let Some((start, end)) = self.floor(&range.start)
            && end.is_none_or(|end| end >= range.start.as_slice())
        {
            merged.start = start.to_vec();
            merged.end = later(merged.end, end);
        }
        let last = merged.end.as_deref().and_then(|end| self.floor(end));
        if let Some((_, end)) = last {
            merged.end = later(merged.end, end);
        }
        self.entries.remove_range(&merged);
        let entry = entry_of(merged.end.as_deref());
        self.entries.insert(&merged.start, &entry);
    }

    /// The range that contains a key.
    pub(super) fn around(&self, key: &[u8]) -> Option<Bounds<'_>> {
        let range = self.floor(key)?;
        range.1.is_none_or(|end| key < end).then_some(range)
    }

    /// The last range that starts at or before a key.
    pub(super) fn floor(&self, key: &[u8]) -> Option<Bounds<'_>> {
        let (start, entry) = self.entries.floor(key)?;
        Some((start, end_of(entry)))
    }

    /// The start of the first range from a key on.
    pub(super) fn start_from(&self, key: &[u8]) -> Option<&[u8]> {
        let rest = KeyRange {
            start: key.to_vec(),
            end: None,
        };
        let next = self.entries.scan(&rest, Direction::Forward).next();
        next.map(|(start, _)| start)
    }

    /// Whether any key of a range is removed.
    pub(super) fn overlaps(&self, range: &KeyRange) -> bool {
        !self.is_empty() && (self.around(&range.start).is_some() || self.entries.has_any(range))
    }

    /// The number of ranges.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no ranges.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all ranges.
    pub(super) fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// The ranges, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = KeyRange> {
        self.entries()
            .filter_map(|(start, entry)| range_of(start, entry))
    }

    /// The first key of each range with its entry, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter()
    }
}

/// The entry of a range with an end.
fn entry_of(end: Option<&[u8]>) -> Vec<u8> {
    match end {
        Some(end) => [&[UNTIL], end].concat(),
        None => vec![REST],
    }
}

/// The end of the range with an entry.
fn end_of(entry: &[u8]) -> Option<&[u8]> {
    match entry {
        [UNTIL, end @ ..] => Some(end),
        _ => None,
    }
}

/// The range with an entry; `None` if it is the entry of something else.
pub(super) fn range_of(start: &[u8], entry: &[u8]) -> Option<KeyRange> {
    matches!(entry, [UNTIL, ..] | [REST]).then(|| KeyRange {
        start: start.to_vec(),
        end: end_of(entry).map(<[u8]>::to_vec),
    })
}

fn later(one: Option<Vec<u8>>, two: Option<&[u8]>) -> Option<Vec<u8>> {
    match (one, two) {
        (Some(one), Some(two)) if one.as_slice() < two => Some(two.to_vec()),
        (Some(one), Some(_)) => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(start: &str, end: &str) -> KeyRange {
        KeyRange::new(start, end)
    }

    #[test]
    fn overlapping_and_adjacent_ranges_are_one() {
        let mut ranges = RemovedRanges::default();
        for (start, end) in [("b", "c"), ("e", "f"), ("x", "y"), ("c", "d"), ("a", "e")] {
            ranges.insert(&bounded(start, end));
        }
        ranges.insert(&bounded("z", "p"));
        let all: Vec<_> = ranges.entries().collect();
        let expected: [(&[u8], &[u8]); 2] = [(b"a", b"\x02f"), (b"x", b"\x02y")];
        assert_eq!(all, expected);
        assert!(ranges.around(b"a").is_some() && ranges.around(b"ezz").is_some());
        assert!(ranges.around(b"f").is_none() && ranges.around(b"").is_none());
        assert!(ranges.overlaps(&bounded("f", "xx")) && !ranges.overlaps(&bounded("f", "x")));
        assert_eq!(ranges.start_from(b"b"), Some(b"x".as_slice()));
        ranges.insert(&KeyRange {
            start: b"d".to_vec(),
            end: None,
        });
        assert_eq!(ranges.around(b"zzz"), Some((&b"a"[..], None)));
        ranges.insert(&KeyRange::all());
        assert_eq!(
            (ranges.len(), ranges.around(b"")),
            (1, Some((&b""[..], None)))
        );
    }
}
