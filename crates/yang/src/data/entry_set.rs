//! The entries of one list or leaf-list instance read so far, to detect duplicates in bounded memory.
//!
//! Entries are mostly in ascending order: then a comparison with the last one is enough, and each costs one
//! 128-bit hash, kept in case a later entry breaks the order. From then on, a set of the hashes is used.
//! Storing the keys themselves was rejected: they may be 4 KiB each.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;

use rustc_hash::{FxBuildHasher, FxHasher};
use smallvec::SmallVec;

use crate::value::Value;

/// The maximum number of entries of the open lists of one document (16 bytes each in order, about 40 out of
/// order).
pub const ENTRIES_MAX: usize = 1 << 25;

/// The key values of one entry, or the value of a leaf-list entry.
pub(super) type KeyValues = SmallVec<[Value; 1]>;

/// The entries of one list or leaf-list instance.
#[derive(Debug, Default)]
pub(super) struct EntrySet {
    /// The number of entries, including duplicates.
    pub(super) count: u64,
    /// The greatest entry so far, while they ascend. Its hash is not in `hashes` yet.
    last: Option<KeyValues>,
    hashes: Hashes,
}

#[derive(Debug)]
enum Hashes {
    Ascending(Vec<u128>),
    Unordered(HashSet<u128, FxBuildHasher>),
}

impl Default for Hashes {
    fn default() -> Self {
        Self::Ascending(Vec::new())
    }
}

/// The result of an insertion.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    New,
    /// Returns the keys.
    Duplicate(KeyValues),
}

impl EntrySet {
    /// Adds an entry.
    pub(super) fn insert(&mut self, keys: KeyValues) -> Entry {
        let order = match &self.last {
            Some(last) => compare(last, &keys),
            None => Ordering::Less,
        };
        match &mut self.hashes {
            Hashes::Ascending(hashes) if order == Ordering::Less => {
                if let Some(last) = self.last.replace(keys) {
                    hashes.push(hash(&last));
                }
                Entry::New
            }
            Hashes::Ascending(_) if self.last.as_ref() == Some(&keys) => Entry::Duplicate(keys),
            Hashes::Ascending(hashes) => {
                let mut set: HashSet<_, _> = mem::take(hashes).into_iter().collect();
                set.extend(self.last.take().map(|last| hash(&last)));
                self.hashes = Hashes::Unordered(set);
                self.insert(keys)
            }
            Hashes::Unordered(set) => match set.insert(hash(&keys)) {
                true => Entry::New,
                false => Entry::Duplicate(keys),
            },
        }
    }

    /// The number of hashes.
    pub(super) fn len(&self) -> usize {
        match &self.hashes {
            Hashes::Ascending(hashes) => hashes.len(),
            Hashes::Unordered(set) => set.len(),
        }
    }
}

fn compare(left: &[Value], right: &[Value]) -> Ordering {
    let mut orders = left
        .iter()
        .zip(right)
        .map(|(left, right)| left.compare(right));
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// SipHash and FxHash combined: the first is strong, the second distinguishes what the first might not. A client
/// that finds two keys with one hash only gets an error for its own document.
fn hash(keys: &[Value]) -> u128 {
    let mut strong = DefaultHasher::new();
    keys.hash(&mut strong);
    let mut fast = FxHasher::default();
    keys.hash(&mut fast);
    u128::from(strong.finish()) << 64 | u128::from(fast.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use rand::seq::SliceRandom;

    #[test]
    fn duplicates_are_found_in_any_order() {
        let mut random = espalier_testkit::seed::generator();
        for round in 0..300 {
            let mut keys: Vec<i32> = (0..random.random_range(0..40)).collect();
            if round % 2 == 0 {
                keys.shuffle(&mut random);
            }
            for _ in 0..random.random_range(0..3) {
                let at = random.random_range(0..=keys.len());
                keys.insert(at, random.random_range(0..45));
            }
            let mut seen = EntrySet::default();
            let mut model = HashSet::new();
            for key in keys {
                let ours = seen.insert(
                    [Value::Int32(key), Value::string("x")]
                        .into_iter()
                        .collect(),
                );
                assert_eq!(ours == Entry::New, model.insert(key), "key {key}");
            }
        }
    }

    #[test]
    fn values_of_two_kinds_that_compare_equal_are_two() {
        let mut seen = EntrySet::default();
        assert_eq!(
            seen.insert([Value::Int32(1)].into_iter().collect()),
            Entry::New
        );
        assert_eq!(
            seen.insert([Value::Uint32(1)].into_iter().collect()),
            Entry::New
        );
        assert_ne!(
            seen.insert([Value::Int32(1)].into_iter().collect()),
            Entry::New
        );
    }
}
