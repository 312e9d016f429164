//! What a streamed write knows to be empty: gaps between keys, in which it need not ask.
//!
//! A load looks before it writes, key after key, mostly into nothing; each look would be a round
//! trip. So a look that finds nothing asks for the next key there, and remembers the gap before it.

use std::collections::BTreeMap;
use std::ops::Bound;

use espalier_keyspace::KeyRange;

/// The most gaps that are remembered; beyond that they are forgotten and looked for again.
const GAPS_MAX: usize = 1024;

/// Gaps: no key lies between the first (included) and the second (excluded; `None` is the end).
#[derive(Default)]
pub(in crate::postgres) struct Gaps {
    gaps: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Gaps {
    /// Whether a key is known to be absent.
    pub(in crate::postgres) fn holds(&self, key: &[u8]) -> bool {
        self.around(key).is_some()
    }

    /// Notes that no key lies from `start` to before `end`.
    pub(in crate::postgres) fn note(&mut self, start: &[u8], end: Option<&[u8]>) {
        if self.gaps.len() >= GAPS_MAX {
            self.gaps.clear();
        }
        // Gaps do not overlap, so that the nearest one before a key is the only one to look at.
        if let Some((before, _)) = self.around(start) {
            let before = before.to_vec();
            self.gaps.remove(&before);
        }
        let is_covered = |key: &[u8]| key >= start && end.is_none_or(|end| key < end);
        let from_start = (Bound::Included(start), Bound::Unbounded);
        let covered = self.gaps.range::<[u8], _>(from_start);
        let covered = covered
            .map(|(key, _)| key)
            .take_while(|key| is_covered(key));
        for key in covered.cloned().collect::<Vec<_>>() {
            self.gaps.remove(&key);
        }
        self.gaps.insert(start.to_vec(), end.map(<[u8]>::to_vec));
    }

    /// Notes that a key is set: the gap around it becomes two.
    pub(in crate::postgres) fn fill(&mut self, key: &[u8]) {
        let Some((start, end)) = self.around(key) else {
            return;
        };
        let (start, end) = (start.to_vec(), end.map(<[u8]>::to_vec));
        self.gaps.remove(&start);
        let after = [key, &[0]].concat();
        if !(KeyRange {
            start: after.clone(),
            end: end.clone(),
        })
        .is_empty()
        {
            self.gaps.insert(after, end);
        }
        // A load that goes forward does not come back; what lies behind is kept while there is room.
        if start.as_slice() < key && self.gaps.len() < GAPS_MAX {
            self.gaps.insert(start, Some(key.to_vec()));
        }
    }

    fn around(&self, key: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        let before = (Bound::Unbounded, Bound::Included(key));
        let (start, end) = self.gaps.range::<[u8], _>(before).next_back()?;
        let is_before_end = end.as_deref().is_none_or(|end| key < end);
        is_before_end.then_some((start, end.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_filled_key_by_key() {
        let mut gaps = Gaps::default();
        assert!(!gaps.holds(b"b"));
        gaps.note(b"b", Some(b"f"));
        assert!(gaps.holds(b"b") && gaps.holds(b"e\xff"));
        assert!(!gaps.holds(b"a") && !gaps.holds(b"f"));
        gaps.fill(b"d");
        assert!(gaps.holds(b"c") && !gaps.holds(b"d") && gaps.holds(b"d\0"));
        gaps.fill(b"b");
        gaps.fill(b"x");
        assert!(!gaps.holds(b"b") && gaps.holds(b"b\0"));
        gaps.note(b"x", None);
        assert!(gaps.holds(b"\xff"));
        gaps.note(b"y", Some(b"z"));
        gaps.fill(b"zz");
        assert!(!gaps.holds(b"zz"), "gaps do not overlap");
    }

    #[test]
    fn they_are_bounded() {
        let mut gaps = Gaps::default();
        gaps.note(b"", None);
        for number in 0..10_000u32 {
            let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
            gaps.fill(&key);
            assert!(!gaps.holds(&key));
        }
        assert!(gaps.gaps.len() <= GAPS_MAX + 1);
    }
}
