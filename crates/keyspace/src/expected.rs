//! What a reader knows beforehand that it will read.

use crate::KeyRange;

/// The reads that are to come, for [`crate::Driver::snapshot_expecting`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    keys: Vec<Vec<u8>>,
    ranges: Vec<(KeyRange, usize)>,
}

impl Expected {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A key that will be read.
    pub fn key(&mut self, key: impl Into<Vec<u8>>) {
        self.keys.push(key.into());
    }

    /// A range that will be scanned forward, so many keys of it.
    pub fn range(&mut self, range: KeyRange, keys: usize) {
        self.ranges.push((range, keys));
    }

    /// The keys, in the order they were named.
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// The ranges and how many keys of them, in the order they were named.
    pub fn ranges(&self) -> &[(KeyRange, usize)] {
        &self.ranges
    }

    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }
}

/// Tells what is expected, to an engine that makes use of it.
pub type Expect<'a> = &'a dyn Fn(&mut Expected);
