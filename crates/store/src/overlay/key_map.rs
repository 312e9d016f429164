//! A sorted map for keys that are mostly written in ascending order.
//!
//! Bulk edits write keys in ascending order within each subspace. A key after all others of its subspace is
//! appended to a vector, with one comparison; any other key makes the vector part of a B-tree. Lookups in and
//! after such a run are as cheap.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Values by key, in key order.
#[derive(Clone, Debug)]
pub(crate) struct KeyMap<V> {
    /// The keys of each subspace, by their first byte.
    parts: Vec<(u8, Part<V>)>,
}

#[derive(Clone, Debug)]
struct Part<V> {
    sorted: BTreeMap<Vec<u8>, V>,
    /// In order, and after all keys of `sorted`.
    appended: Vec<(Vec<u8>, V)>,
}

impl<V> Default for KeyMap<V> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<V: PartialEq> PartialEq for KeyMap<V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<V: Eq> Eq for KeyMap<V> {}

impl<V> KeyMap<V> {
    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|(_, part)| part.len() == 0)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.len()).sum()
    }

    /// Sets the value of a key; returns the old value.
    pub fn insert(&mut self, key: Vec<u8>, value: V) -> Option<V> {
        let byte = first_byte(&key);
        let at = match self.parts.binary_search_by_key(&byte, |(byte, _)| *byte) {
            Ok(at) => at,
            Err(at) => {
                self.parts.insert(at, (byte, Part::default()));
                at
            }
        };
        self.parts[at].1.insert(key, value)
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &[u8]) {
        let byte = first_byte(key);
        if let Ok(at) = self.parts.binary_search_by_key(&byte, |(byte, _)| *byte) {
            self.parts[at].1.remove(key);
        }
    }

    /// Keeps the keys for which `is_kept` is true.
    pub fn retain(&mut self, is_kept: impl Fn(&[u8]) -> bool) {
        for (_, part) in &mut self.parts {
            part.sorted.retain(|key, _| is_kept(key));
            part.appended.retain(|(key, _)| is_kept(key));
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&V> {
        let byte = first_byte(key);
        let at = self.parts.binary_search_by_key(&byte, |(byte, _)| *byte);
        self.parts[at.ok()?].1.get(key)
    }

    /// Whether there is a key.
    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &V)> {
        self.range(Bound::Unbounded, Bound::Unbounded)
    }

    /// All entries, by value.
    pub fn into_entries(self) -> impl Iterator<Item = (Vec<u8>, V)> {
        let parts = self.parts.into_iter().map(|(_, part)| part);
        parts.flat_map(|part| part.sorted.into_iter().chain(part.appended))
    }

    /// The keys between two bounds with their values, in order. The start must not be after the end, as in
    /// [`BTreeMap::range`].
    pub fn range<'m>(
        &'m self,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'m [u8], &'m V)> + use<'m, V> {
        let first = match start {
            Bound::Included(start) | Bound::Excluded(start) => first_byte(start),
            Bound::Unbounded => 0,
        };
        let last = match end {
            Bound::Included(end) | Bound::Excluded(end) => first_byte(end),
            Bound::Unbounded => u8::MAX,
        };
        let is_within = |(byte, _): &&(u8, Part<V>)| (first..=last).contains(byte);
        let within = self.parts.iter().filter(is_within);
        let ranges: Vec<_> = within.map(|(_, part)| part.range(start, end)).collect();
        ranges.into_iter().flatten()
    }
}

impl<V> FromIterator<(Vec<u8>, V)> for KeyMap<V> {
    fn from_iter<I: IntoIterator<Item = (Vec<u8>, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

/// The byte that identifies the subspace.
fn first_byte(key: &[u8]) -> u8 {
    key.first().copied().unwrap_or_default()
}

impl<V> Default for Part<V> {
    fn default() -> Self {
        Self {
            sorted: BTreeMap::new(),
            appended: Vec::new(),
        }
    }
}

impl<V> Part<V> {
    fn len(&self) -> usize {
        self.sorted.len() + self.appended.len()
    }

    /// The index of a key among the appended ones, or where it would be inserted; `None` if it is before all
    /// of them.
    fn index_of(&self, key: &[u8]) -> Option<Result<usize, usize>> {
        let (last, _) = self.appended.last()?;
        match key.cmp(last) {
            Ordering::Greater => Some(Err(self.appended.len())),
            Ordering::Equal => Some(Ok(self.appended.len() - 1)),
            Ordering::Less => {
                let index = self
                    .appended
                    .binary_search_by(|(other, _)| other.as_slice().cmp(key));
                (index != Err(0)).then_some(index)
            }
        }
    }

    fn insert(&mut self, key: Vec<u8>, value: V) -> Option<V> {
        let is_last = match self.index_of(&key) {
            Some(Ok(at)) => return Some(std::mem::replace(&mut self.appended[at].1, value)),
            Some(Err(at)) if at == self.appended.len() => true,
            Some(Err(_)) => {
                self.sort();
                false
            }
            None => self.appended.is_empty() && self.is_after_sorted(&key),
        };
        if is_last {
            self.appended.push((key, value));
            return None;
        }
        self.sorted.insert(key, value)
    }

    /// Whether a key is after all keys of `sorted`.
    fn is_after_sorted(&self, key: &[u8]) -> bool {
        let last = self.sorted.last_key_value();
        last.is_none_or(|(last, _)| last.as_slice() < key)
    }

    fn remove(&mut self, key: &[u8]) {
        match self.index_of(key) {
            Some(Ok(at)) if at + 1 == self.appended.len() => drop(self.appended.pop()),
            Some(Ok(_)) => {
                self.sort();
                self.sorted.remove(key);
            }
            Some(Err(_)) => {}
            None => drop(self.sorted.remove(key)),
        }
    }

    fn get(&self, key: &[u8]) -> Option<&V> {
        match self.index_of(key) {
            Some(Ok(at)) => Some(&self.appended[at].1),
            Some(Err(_)) => None,
            None => self.sorted.get(key),
        }
    }

    /// Moves the appended keys into the tree.
    fn sort(&mut self) {
        self.sorted.extend(self.appended.drain(..));
    }

    fn range<'m>(
        &'m self,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'m [u8], &'m V)> + use<'m, V> {
        let sorted = self.sorted.range::<[u8], _>((start, end));
        let is_before = |(key, _): &(Vec<u8>, V)| match start {
            Bound::Included(start) => key.as_slice() < start,
            Bound::Excluded(start) => key.as_slice() <= start,
            Bound::Unbounded => false,
        };
        let is_within = |(key, _): &(Vec<u8>, V)| match end {
            Bound::Included(end) => key.as_slice() <= end,
            Bound::Excluded(end) => key.as_slice() < end,
            Bound::Unbounded => true,
        };
        let appended = &self.appended[self.appended.partition_point(is_before)..];
        let appended = &appended[..appended.partition_point(is_within)];
        let sorted = sorted.map(|(key, value)| (key.as_slice(), value));
        sorted.chain(appended.iter().map(|(key, value)| (key.as_slice(), value)))
    }
}

#[cfg(test)]
mod tests {
    use espalier_testkit::seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn a_key_map_equals_a_btree_map() {
        seed::run("the map of keys", |random| {
            for _ in 0..60 {
                let (mut map, mut model) = (KeyMap::default(), BTreeMap::new());
                let mut next = 0_u32;
                for _ in 0..random.random_range(0..200) {
                    let number = match random.random_range(0..4) {
                        0 => random.random_range(0..=next),
                        _ => next + 1,
                    };
                    next = next.max(number);
                    let subspace = random.random_range(1..3_u8);
                    let key = [&[subspace][..], &number.to_be_bytes()].concat();
                    if random.random_range(0..6) == 0 {
                        map.remove(&key);
                        model.remove(&key);
                    } else {
                        map.insert(key.clone(), next);
                        model.insert(key.clone(), next);
                    }
                    assert_eq!(map.get(&key), model.get(&key));
                    assert_eq!(map.len(), model.len());
                }
                let (from, to) = (random.random_range(0..=next), random.random_range(0..=next));
                let bound =
                    |number: u32, subspace: u8| [&[subspace][..], &number.to_be_bytes()].concat();
                let (from, to) = (
                    bound(from.min(to), 1),
                    bound(from.max(to) + 1, random.random_range(1..3)),
                );
                for (start, end) in [
                    (
                        Bound::Included(from.as_slice()),
                        Bound::Excluded(to.as_slice()),
                    ),
                    (
                        Bound::Excluded(from.as_slice()),
                        Bound::Included(to.as_slice()),
                    ),
                    (Bound::Unbounded, Bound::Included(to.as_slice())),
                    (Bound::Included(from.as_slice()), Bound::Unbounded),
                ] {
                    let wanted = model
                        .range::<[u8], _>((start, end))
                        .map(|(key, value)| (key.as_slice(), value));
                    assert!(map.range(start, end).eq(wanted.clone()));
                    assert!(map.range(start, end).rev().eq(wanted.rev()));
                }
                assert!(map.into_entries().eq(model));
            }
        });
    }
}
