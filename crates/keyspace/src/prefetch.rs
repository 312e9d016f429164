//! Reads that a caller expects to make, for prefetching.

use std::collections::HashMap;

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

    /// Removes reads that were added more than once. Of those of one range, the one with the most keys stays. The reads
    /// lose their order.
    pub fn remove_repeated(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
        let mut most = HashMap::new();
        for (range, keys) in self.ranges.drain(..) {
            let known = most.entry(range).or_default();
            *known = keys.max(*known);
        }
        self.ranges.extend(most);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_repeated_reads_the_largest_stays() {
        let mut list = PrefetchList::new();
        for keys in [1, 250, 16] {
            list.key("b");
            list.key("a");
            list.range(KeyRange::new("a", "c"), keys);
        }
        list.remove_repeated();
        assert_eq!(list.keys(), [b"a".to_vec(), b"b".to_vec()]);
        assert_eq!(list.ranges(), [(KeyRange::new("a", "c"), 250)]);
    }
}
