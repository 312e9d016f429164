//! Data that a snapshot prefetched in the round trip that opened it.

use std::collections::HashMap;

use espalier_keyspace::{Direction, KeyRange};

use crate::page::Page;
use crate::paged_cursor::More;

/// Values of keys and first entries of ranges, all of one state.
#[derive(Default)]
pub(crate) struct Prefetched {
    values: HashMap<Vec<u8>, Option<Vec<u8>>>,
    heads: Vec<(KeyRange, Page, More)>,
}

impl Prefetched {
    /// Adds the value of a key; `None` if it is absent.
    pub(crate) fn insert_value(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        self.values.insert(key.to_vec(), value);
    }

    /// Adds the first entries of a range.
    pub(crate) fn insert_head(&mut self, range: &KeyRange, head: Page, more: More) {
        self.heads.push((range.clone(), head, more));
    }

    /// The prefetched value of a key; `Some(None)` if the key is known to be absent.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.values.get(key).map(Option::as_deref)
    }

    /// Fills an empty page with the first entries of a range, if it, or a range around it, was prefetched.
    pub(crate) fn fill_page(
        &self,
        range: &KeyRange,
        direction: Direction,
        page: &mut Page,
    ) -> Option<More> {
        let heads = self.heads.iter();
        let mut heads = heads.filter(|(head_range, ..)| head_range.includes(range));
        heads.find_map(|(_, head, more)| {
            let last = head.entries().next_back();
            let is_all =
                *more == More::Nothing || last.is_some_and(|(last, _)| !range.is_before_end(last));
            let shown = head.entries().filter(|(key, _)| range.contains(key));
            match (is_all, direction) {
                (_, Direction::Forward) => shown.for_each(|(key, value)| page.push(key, value)),
                (true, Direction::Backward) => {
                    shown.rev().for_each(|(key, value)| page.push(key, value));
                }
                (false, Direction::Backward) => return None,
            }
            match is_all {
                true => Some(More::Nothing),
                false => (!page.is_empty()).then_some(More::Perhaps),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys on the page, and whether there may be more.
    fn shown(
        prefetched: &Prefetched,
        range: &KeyRange,
        direction: Direction,
    ) -> Option<(Vec<u8>, More)> {
        let mut page = Page::default();
        let more = prefetched.fill_page(range, direction, &mut page)?;
        Some((page.entries().map(|(key, _)| key[0]).collect(), more))
    }

    #[test]
    fn a_range_is_read_from_a_prefetched_one_around_it() {
        let mut prefetched = Prefetched::default();
        let mut head = Page::default();
        b"bdf".iter().for_each(|&key| head.push(&[key], b"value"));
        prefetched.insert_head(&KeyRange::new("b", "j"), head.clone(), More::Perhaps);
        prefetched.insert_head(&KeyRange::new("m", "p"), Page::default(), More::Nothing);
        let forward = |start: &str, end: &str| {
            let range = KeyRange::new(start, end);
            shown(&prefetched, &range, Direction::Forward)
        };
        assert_eq!(forward("b", "j"), Some((b"bdf".to_vec(), More::Perhaps)));
        assert_eq!(forward("c", "i"), Some((b"df".to_vec(), More::Perhaps)));
        assert_eq!(forward("c", "f"), Some((b"d".to_vec(), More::Nothing)));
        assert_eq!(forward("e", "f"), Some((vec![], More::Nothing)));
        assert_eq!(forward("g", "i"), None);
        assert_eq!(forward("a", "c"), None);
        assert_eq!(forward("c", "k"), None);
        assert_eq!(forward("n", "o"), Some((vec![], More::Nothing)));
        let backward = |start: &str, end: &str| {
            let range = KeyRange::new(start, end);
            shown(&prefetched, &range, Direction::Backward)
        };
        assert_eq!(backward("b", "f"), Some((b"db".to_vec(), More::Nothing)));
        assert_eq!(backward("b", "j"), None);
    }
}
