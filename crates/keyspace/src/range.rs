//! Ranges of keys.

use std::ops::Bound;

use crate::Direction;

/// The keys `start <= key < end`; without `end`, to the end of the key space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The first key of the range.
    pub start: Vec<u8>,
    /// The first key after the range.
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    /// The keys from `start` (inclusive) to `end` (exclusive).
    pub fn new(start: impl Into<Vec<u8>>, end: impl Into<Vec<u8>>) -> Self {
        Self {
            start: start.into(),
            end: Some(end.into()),
        }
    }

    /// Every key.
    pub fn all() -> Self {
        Self {
            start: Vec::new(),
            end: None,
        }
    }

    /// `prefix` itself and every key that begins with it.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            start: prefix.to_vec(),
            end: after_prefix(prefix),
        }
    }

    /// Every key that begins with `prefix`, except `prefix` itself.
    pub fn strictly_below(prefix: &[u8]) -> Self {
        let mut start = prefix.to_vec();
        start.push(0);
        Self {
            start,
            end: after_prefix(prefix),
        }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && self.is_before_end(key)
    }

    /// Whether `key` is before the end of the range.
    pub fn is_before_end(&self, key: &[u8]) -> bool {
        self.end.as_deref().is_none_or(|end| key < end)
    }

    /// Whether every key of `other` is in this range.
    pub fn includes(&self, other: &Self) -> bool {
        let is_before_end = match (&other.end, &self.end) {
            (Some(one), Some(two)) => one <= two,
            (_, end) => end.is_none(),
        };
        other.start >= self.start && is_before_end
    }

    /// The keys that are in both ranges.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let end = match (&self.end, &other.end) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.as_ref().or(two.as_ref()),
        };
        Self {
            start: self.start.as_slice().max(&other.start).to_vec(),
            end: end.cloned(),
        }
    }

    /// The rest of the range for a scan that seeks to `key`, `key` included. The whole range if `key` is
    /// before the start of the scan.
    #[must_use]
    pub fn remaining_from(&self, key: &[u8], direction: Direction) -> Self {
        let mut left = self.clone();
        match direction {
            Direction::Forward if key > left.start.as_slice() => left.start = key.to_vec(),
            Direction::Backward if left.is_before_end(key) => left.end = Some([key, &[0]].concat()),
            Direction::Forward | Direction::Backward => {}
        }
        left
    }

    /// The bounds of the range for ordered maps. These panic if the range ends before it starts: check
    /// [`Self::is_empty`] first.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let end = self.end.as_deref();
        (
            Bound::Included(self.start.as_slice()),
            end.map_or(Bound::Unbounded, Bound::Excluded),
        )
    }

    /// Whether the range contains no key.
    pub fn is_empty(&self) -> bool {
        self.end
            .as_deref()
            .is_some_and(|end| end <= self.start.as_slice())
    }
}

/// The first key after all keys that begin with `prefix`; `None` if `prefix` is all `0xff`.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_range_contains_the_prefix_and_its_extensions() {
        let range = KeyRange::prefix(b"a\xff");
        assert!(range.contains(b"a\xff") && range.contains(b"a\xff\xff\xff"));
        assert!(!range.contains(b"b") && !range.contains(b"a\xfe"));
        assert_eq!(KeyRange::prefix(b"\xff\xff").end, None);
        assert!(
            !KeyRange::strictly_below(b"a").contains(b"a")
                && KeyRange::strictly_below(b"a").contains(b"a\0")
        );
    }

    #[test]
    fn a_range_includes_those_that_end_no_later() {
        let range = KeyRange::new("b", "d");
        let from = |start: &str| KeyRange {
            start: start.into(),
            end: None,
        };
        assert!(range.includes(&range) && range.includes(&KeyRange::new("b\0", "c")));
        assert!(!range.includes(&KeyRange::new("a", "c")));
        assert!(!range.includes(&KeyRange::new("c", "d\0")) && !range.includes(&from("c")));
        assert!(from("b").includes(&range) && from("b").includes(&from("c")));
    }

    #[test]
    fn seeking_leaves_the_rest_of_the_range() {
        let range = KeyRange::new("b", "d");
        for (key, forward, backward) in [
            ("a", KeyRange::new("b", "d"), KeyRange::new("b", "a\0")),
            ("b", KeyRange::new("b", "d"), KeyRange::new("b", "b\0")),
            ("c", KeyRange::new("c", "d"), KeyRange::new("b", "c\0")),
            ("d", KeyRange::new("d", "d"), KeyRange::new("b", "d")),
            ("e", KeyRange::new("e", "d"), KeyRange::new("b", "d")),
        ] {
            let left = |direction| range.remaining_from(key.as_bytes(), direction);
            assert_eq!(left(Direction::Forward), forward, "{key}");
            assert_eq!(left(Direction::Backward), backward, "{key}");
        }
        let all = KeyRange::all();
        let before = all.remaining_from(b"c", Direction::Backward);
        assert!(before.contains(b"c") && !before.contains(b"c\0"));
    }

    #[test]
    fn an_intersection_contains_the_common_keys() {
        let range = KeyRange::new("b", "d");
        assert_eq!(range.intersection(&KeyRange::all()), range);
        assert_eq!(KeyRange::all().intersection(&range), range);
        assert_eq!(
            range.intersection(&KeyRange::new("a", "c")),
            KeyRange::new("b", "c")
        );
        assert!(range.intersection(&KeyRange::new("d", "e")).is_empty());
    }
}
