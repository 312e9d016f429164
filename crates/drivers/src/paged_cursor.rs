//! A cursor over an engine that is read in pages: each page is a query for the entries after the last one,
//! so nothing stays open between queries.

use espalier_keyspace::{Cursor, Direction, KeyRange, Result};

/// Entries of the first page. The size doubles with each page, as most scans are either short or long.
const ENTRIES_FIRST: usize = 16;

/// Maximum entries of a page.
const ENTRIES_MAX: usize = 4096;

/// A page ends after this many bytes of keys and values, if the engine can limit it: 1 MiB.
pub(crate) const PAGE_BYTES: usize = 1 << 20;

/// Reads pages for a cursor.
pub(crate) trait Source {
    /// Fills the empty `page` with the first `wanted` entries of `range` in the given order, or fewer (but
    /// at least one) if they exceed [`PAGE_BYTES`]. Returns whether the range may contain more.
    fn read(
        &self,
        range: &KeyRange,
        direction: Direction,
        wanted: usize,
        page: &mut Page,
    ) -> Result<More>;
}

/// Whether a range continues after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum More {
    /// There may be more entries.
    Perhaps,
    /// The page contains the last entry.
    Nothing,
}

/// Consecutive entries.
#[derive(Clone, Default)]
pub(crate) struct Page {
    bytes: Vec<u8>,
    /// The end offsets of each key and value; an entry starts at the end of the previous one.
    ends: Vec<(usize, usize)>,
}

impl Page {
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn key(&self, at: usize) -> &[u8] {
        &self.bytes[self.start(at)..self.ends[at].0]
    }

    /// The entries, in order.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|at| self.entry(at))
    }

    fn entry(&self, at: usize) -> (&[u8], &[u8]) {
        let (key_end, value_end) = self.ends[at];
        (self.key(at), &self.bytes[key_end..value_end])
    }

    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before].1)
    }

    /// The index of a key, or of the first entry after it; `None` if it may be on another page.
    fn find(&self, key: &[u8], direction: Direction) -> Option<usize> {
        let last = self.len().checked_sub(1)?;
        let is_before = |one: &[u8], other: &[u8]| match direction {
            Direction::Forward => one < other,
            Direction::Backward => one > other,
        };
        if is_before(key, self.key(0)) || is_before(self.key(last), key) {
            return None;
        }
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = (low + high) / 2;
            if is_before(self.key(middle), key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}

/// A cursor over the pages of a source.
pub(crate) struct PagedCursor<S> {
    source: S,
    range: KeyRange,
    direction: Direction,
    page: Page,
    /// Index of the next entry in the page.
    at: usize,
    /// The range after the page; `None` at the end.
    rest: Option<KeyRange>,
    wanted: usize,
}

impl<S: Source> PagedCursor<S> {
    /// Creates a cursor over `range`, without reading.
    pub(crate) fn new(source: S, range: &KeyRange, direction: Direction) -> Self {
        Self {
            source,
            range: range.clone(),
            direction,
            page: Page::default(),
            at: 0,
            rest: Some(range.clone()),
            wanted: ENTRIES_FIRST,
        }
    }

    fn read_next_page(&mut self) -> Result<()> {
        let Some(rest) = self.rest.take().filter(|rest| !rest.is_empty()) else {
            return Ok(());
        };
        self.page.clear();
        self.at = 0;
        let read = self
            .source
            .read(&rest, self.direction, self.wanted, &mut self.page);
        let more = match read {
            Ok(more) => more,
            Err(error) => {
                self.page.clear();
                self.rest = Some(rest);
                return Err(error);
            }
        };
        if let Some(last) = self.page.len().checked_sub(1) {
            let fitting = ENTRIES_MAX.min(PAGE_BYTES / (self.page.bytes() / (last + 1)).max(1));
            // A prefetched page may be larger than requested.
            self.wanted = (self.wanted.max(last + 1) * 2).min(fitting).max(1);
            if more == More::Perhaps {
                self.rest = Some(after(rest, self.page.key(last), self.direction));
            }
        }
        Ok(())
    }
}

/// The rest of a range after a key.
pub(crate) fn after(mut range: KeyRange, key: &[u8], direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => range.start = [key, &[0]].concat(),
        Direction::Backward => range.end = Some(key.to_vec()),
    }
    range
}

impl<S: Source> Cursor for PagedCursor<S> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.at >= self.page.len() {
            self.read_next_page()?;
        }
        if self.at >= self.page.len() {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.page.entry(self.at - 1)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        if let Some(at) = self.page.find(key, self.direction) {
            self.at = at;
            return Ok(());
        }
        self.page.clear();
        self.at = 0;
        self.wanted = ENTRIES_FIRST;
        self.rest = Some(self.range.remaining_from(key, self.direction));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys 0, 2, 4 ... 98, two bytes each.
    struct Even;

    impl Source for Even {
        fn read(
            &self,
            range: &KeyRange,
            direction: Direction,
            wanted: usize,
            page: &mut Page,
        ) -> Result<More> {
            let mut keys: Vec<_> = (0..50u8).map(|number| [1, number * 2]).collect();
            keys.retain(|key| range.contains(key));
            if direction == Direction::Backward {
                keys.reverse();
            }
            keys.iter().take(wanted).for_each(|key| page.push(key, key));
            Ok(if keys.len() > wanted {
                More::Perhaps
            } else {
                More::Nothing
            })
        }
    }

    fn rest(cursor: &mut PagedCursor<Even>) -> Vec<u8> {
        let mut found = Vec::new();
        while let Some((key, value)) = cursor.next().expect("a step") {
            assert_eq!(key, value);
            found.push(key[1]);
        }
        found
    }

    fn skip(cursor: &mut PagedCursor<Even>, steps: usize) {
        for _ in 0..steps {
            cursor.next().expect("a step");
        }
    }

    #[test]
    fn pages_follow_one_another() {
        let all: Vec<u8> = (0..50).map(|number| number * 2).collect();
        let mut cursor = PagedCursor::new(Even, &KeyRange::all(), Direction::Forward);
        assert_eq!(rest(&mut cursor), all);
        assert!(rest(&mut cursor).is_empty());
        let backward: Vec<u8> = all.iter().rev().copied().collect();
        let mut cursor = PagedCursor::new(Even, &KeyRange::all(), Direction::Backward);
        assert_eq!(rest(&mut cursor), backward);
    }

    #[test]
    fn seek_works_within_a_page_and_across_pages() {
        let range = KeyRange::new([1, 10], [1, 91]);
        for steps in [0, 1, 5, 20, 60] {
            for place in 0..100u8 {
                let mut cursor = PagedCursor::new(Even, &range, Direction::Forward);
                skip(&mut cursor, steps);
                cursor.seek(&[1, place]).expect("a seek");
                let expected: Vec<u8> = (5..46)
                    .map(|number| number * 2)
                    .filter(|&number| number >= place)
                    .collect();
                assert_eq!(rest(&mut cursor), expected, "{steps} steps, {place}");
                let mut cursor = PagedCursor::new(Even, &range, Direction::Backward);
                skip(&mut cursor, steps);
                cursor.seek(&[1, place]).expect("a seek");
                let expected: Vec<u8> = (5..46)
                    .rev()
                    .map(|number| number * 2)
                    .filter(|&number| number <= place)
                    .collect();
                assert_eq!(rest(&mut cursor), expected, "{steps} steps back, {place}");
            }
        }
    }
}
