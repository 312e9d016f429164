//! A set of keys, stored as disjoint ranges.

use std::collections::BTreeMap;
use std::ops::Bound;

use espalier_keyspace::KeyRange;

/// The keys of deleted ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    /// Start to end; `None` is the end of the key space.
    ranges: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl RangeSet {
    /// Adds every key of `range`.
    pub(crate) fn insert(&mut self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let mut merged = range.clone();
        while let Some((start, end)) = self.last_touching(&merged) {
            self.ranges.remove(&start);
            merged.start = merged.start.min(start);
            merged.end = match (merged.end, end) {
                (Some(one), Some(two)) => Some(one.max(two)),
                _ => None,
            };
        }
        self.ranges.insert(merged.start, merged.end);
    }

    /// The last range of the set that overlaps or is adjacent to `range`.
    fn last_touching(&self, range: &KeyRange) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let upper = match &range.end {
            Some(end) => Bound::Included(end.as_slice()),
            None => Bound::Unbounded,
        };
        let (start, end) = self
            .ranges
            .range::<[u8], _>((Bound::Unbounded, upper))
            .next_back()?;
        let touches = end.as_ref().is_none_or(|end| *end >= range.start);
        touches.then(|| (start.clone(), end.clone()))
    }

    /// The range of the set that contains `key`: its start and end.
    pub(crate) fn around(&self, key: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        let (start, end) = self
            .ranges
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()?;
        let end = end.as_deref();
        end.is_none_or(|end| key < end)
            .then_some((start.as_slice(), end))
    }

    /// The range of the set that contains the last keys before `end`: its start and end.
    pub(crate) fn around_end(&self, end: Option<&[u8]>) -> Option<(&[u8], Option<&[u8]>)> {
        let before = end.map_or(Bound::Unbounded, Bound::Excluded);
        let mut starts = self.ranges.range::<[u8], _>((Bound::Unbounded, before));
        let (start, own) = starts.next_back()?;
        let is_to_end = match (own, end) {
            (None, _) => true,
            (Some(own), Some(end)) => own.as_slice() >= end,
            (Some(_), None) => false,
        };
        is_to_end.then_some((start.as_slice(), own.as_deref()))
    }

    /// Whether the set contains every key of a range.
    pub(crate) fn covers(&self, range: &KeyRange) -> bool {
        let around = self.around(&range.start);
        around.is_some_and(|(_, end)| match (end, &range.end) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(end), Some(range_end)) => range_end.as_slice() <= end,
        })
    }

    /// Whether the set contains any key of a range.
    pub(crate) fn overlaps(&self, range: &KeyRange) -> bool {
        if range.is_empty() {
            return false;
        }
        let before_end = match &range.end {
            Some(end) => Bound::Excluded(end.as_slice()),
            None => Bound::Unbounded,
        };
        let mut starts = self.ranges.range::<[u8], _>((Bound::Unbounded, before_end));
        let last = starts.next_back();
        last.is_some_and(|(_, end)| end.as_ref().is_none_or(|end| *end > range.start))
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = KeyRange> {
        self.ranges.iter().map(|(start, end)| KeyRange {
            start: start.clone(),
            end: end.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_ranges_are_merged() {
        let mut set = RangeSet::default();
        for (start, end) in [("b", "c"), ("e", "f"), ("x", "y"), ("c", "d"), ("a", "e")] {
            set.insert(&KeyRange::new(start, end));
        }
        set.insert(&KeyRange::new("z", "p"));
        let ends: Vec<_> = set.ranges.clone().into_iter().collect();
        let expected = [("a", "f"), ("x", "y")];
        let expected = expected.map(|(start, end)| (start.into(), Some(end.into())));
        assert_eq!(ends, expected);
        assert!(set.around(b"a").is_some() && set.around(b"ezz").is_some());
        assert!(set.covers(&KeyRange::new("b", "f")) && !set.covers(&KeyRange::new("b", "g")));
        assert!(!set.covers(&KeyRange::all()));
        assert!(set.around(b"f").is_none() && set.around(b"").is_none());
        set.insert(&KeyRange {
            start: b"d".to_vec(),
            end: None,
        });
        assert_eq!(set.around(b"zzz"), Some((&b"a"[..], None)));
        assert_eq!(set.ranges.len(), 1);
    }
}
