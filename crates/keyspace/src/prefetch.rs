//! Reads that a caller expects to make, for prefetching.

use crate::KeyRange;

/// The expected reads, for [`crate::DriverExtension::snapshot_for`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefetchList {
    keys: Vec<Vec<u8>>,
    ranges: Vec<(KeyRange, usize)>,
}

impl PrefetchList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key that will be read.
    pub fn key(&mut self, key: impl Into<Vec<u8>>) {
        self.keys.push(key.into());
    }

    /// Adds a range of which the first `keys` keys will be scanned forward.
    pub fn range(&mut self, range: KeyRange, keys: usize) {
        self.ranges.push((range, keys));
    }

    /// Sorts the reads, and removes those that were added before.
    pub fn remove_repeated(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
        self.ranges.sort_unstable();
        self.ranges.dedup();
    }

    /// The keys, in the order they were added.
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// The ranges and their numbers of keys, in the order they were added.
    pub fn ranges(&self) -> &[(KeyRange, usize)] {
        &self.ranges
    }

    /// Returns whether no reads are expected.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }
}

/// A callback that lists the expected reads, called only by engines that prefetch.
pub type Prefetch<'a> = &'a dyn Fn(&mut PrefetchList);
