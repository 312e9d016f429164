//! Lists indexed by node, for the few nodes of a schema that have any.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list for each index less than a length, used like a `Vec<Vec<T>>`. Empty lists take no memory: of 800,000 nodes,
/// some thousands have rules.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByNode<T> {
    len: usize,
    lists: FxHashMap<u32, Vec<T>>,
    /// The result for an index without a list.
    empty: Vec<T>,
}

impl<T> ByNode<T> {
    /// Creates empty lists for all indexes less than `len`.
    pub fn new(len: usize) -> Self {
        Self {
            len,
            lists: FxHashMap::default(),
            empty: Vec::new(),
        }
    }

    /// The elements of all lists.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.lists.values().flatten()
    }

    /// The number of indexes.
    pub fn len(&self) -> usize {
        self.len
    }
}

impl<T> Default for ByNode<T> {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<T> Index<usize> for ByNode<T> {
    type Output = Vec<T>;

    fn index(&self, index: usize) -> &Vec<T> {
        let list = self.lists.get(&(index as u32));
        list.unwrap_or(&self.empty)
    }
}

impl<T> IndexMut<usize> for ByNode<T> {
    fn index_mut(&mut self, index: usize) -> &mut Vec<T> {
        self.lists.entry(index as u32).or_default()
    }
}

impl<T: Serialize> Serialize for ByNode<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lists: BTreeMap<&u32, &Vec<T>> = self.lists.iter().collect();
        (self.len as u64, lists).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByNode<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (len, lists) = <(u64, FxHashMap<u32, Vec<T>>)>::deserialize(deserializer)?;
        if lists.keys().any(|&index| u64::from(index) >= len) {
            return Err(serde::de::Error::custom("a list has no node"));
        }
        Ok(Self {
            lists,
            ..Self::new(len as usize)
        })
    }
}
