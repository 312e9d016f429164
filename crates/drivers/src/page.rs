//! Entries in one buffer: a page of a scan, or a node of a tree.

use espalier_keyspace::Direction;

/// Consecutive entries, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    bytes: Vec<u8>,
    /// The end offsets of each key and value; an entry starts at the end of the previous one.
    ends: Vec<(usize, usize)>,
}

impl Page {
    /// An empty page with capacity for so many bytes.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ends: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(crate) fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        &self.bytes[start..self.ends[at].0]
    }

    pub(crate) fn value(&self, at: usize) -> &[u8] {
        let (start, end) = self.ends[at];
        &self.bytes[start..end]
    }

    pub(crate) fn entry(&self, at: usize) -> (&[u8], &[u8]) {
        (self.key(at), self.value(at))
    }

    /// The entries, in order.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|at| self.entry(at))
    }

    /// The number of keys that are before this one, of a page in the given order.
    pub(crate) fn position(&self, key: &[u8], direction: Direction) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match is_before(self.key(middle), key, direction) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The index of a key, or of the first entry after it; `None` if it may be on another page.
    pub(crate) fn find_from(&self, key: &[u8], direction: Direction) -> Option<usize> {
        if self.is_empty() || is_before(key, self.key(0), direction) {
            return None;
        }
        Some(self.position(key, direction)).filter(|at| *at < self.len())
    }
}

fn is_before(one: &[u8], other: &[u8], direction: Direction) -> bool {
    match direction {
        Direction::Forward => one < other,
        Direction::Backward => one > other,
    }
}
