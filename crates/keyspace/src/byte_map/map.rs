//! The map and its public methods.

use super::cursor::ByteMapCursor;
use super::node::{CounterUpdate, Node, Tally};
use super::page::Page;
use crate::{Direction, KeyRange, Result, counter};

// Packed pages: `imbl` takes 2.4 times the memory and 3 times as long for a scan, docs/decisions/0027.
/// An ordered map of keys and values. Cloning takes constant time; clones are independent.
#[derive(Clone, Default)]
pub struct ByteMap {
    root: Node,
    tally: Tally,
}

impl ByteMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.tally.keys
    }

    /// Whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.tally.bytes
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let page = self.page_of(key);
        let index = page.search(key).ok()?;
        Some(page.value(index))
    }

    /// Returns whether the key is present.
    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.page_of(key).search(key).is_ok()
    }

    /// Returns the last key at or before `key`, with its value.
    pub fn floor(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        self.root.floor(key)
    }

    fn page_of(&self, key: &[u8]) -> &Page {
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(page) => return page,
                Node::Branch(branch) => node = &branch.children[branch.child_of(key)],
            }
        }
    }

    /// The root node, for cursors.
    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// Sets a key to a value.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) {
        let inserted = self.root.insert(key, value);
        if let Some((separator, right)) = inserted.split {
            self.root.grow(&separator, right);
        }
        self.tally.bytes += value.len();
        match inserted.before {
            Some(before) => self.tally.bytes -= before,
            None => {
                self.tally.keys += 1;
                self.tally.bytes += key.len();
            }
        }
    }

    /// Adds to the counter at a key, as [`counter::add`] does; an absent key counts as 0.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`] if the sum is out of range or the value is not a counter; the map is
    /// then unchanged.
    pub fn add(&mut self, key: &[u8], delta: i64) -> Result<CounterUpdate> {
        if let Some(added) = self.root.add(key, delta)? {
            return Ok(added);
        }
        let sum = counter::add(key, None, delta)?;
        self.insert(key, &sum);
        Ok(CounterUpdate { before: None, sum })
    }

    /// Removes a key; returns whether it was present.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let is_there = self.contains_key(key);
        if is_there {
            let before = self.root.remove(key);
            self.root.shrink();
            self.tally.keys -= 1;
            self.tally.bytes -= key.len() + before;
        }
        is_there
    }

    /// Removes every key of a range; returns their number.
    pub fn remove_range(&mut self, range: &KeyRange) -> usize {
        let mut removed = Tally::default();
        if self.has_any(range) {
            let (start, end) = (range.start.as_slice(), range.end.as_deref());
            self.root.remove_range(Some(start), end, &mut removed);
            self.root.shrink();
            self.tally.keys -= removed.keys;
            self.tally.bytes -= removed.bytes;
        }
        removed.keys
    }

    /// Returns whether a range contains a key.
    pub fn has_any(&self, range: &KeyRange) -> bool {
        self.scan(range, Direction::Forward).next().is_some()
    }

    /// Iterates over the keys of a range with their values.
    pub fn scan(&self, range: &KeyRange, direction: Direction) -> ByteMapCursor<'_> {
        ByteMapCursor::new(self, range, direction)
    }

    /// Iterates over all keys with their values, in order.
    pub fn iter(&self) -> ByteMapCursor<'_> {
        self.scan(&KeyRange::all(), Direction::Forward)
    }
}

impl<'a> IntoIterator for &'a ByteMap {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = ByteMapCursor<'a>;

    fn into_iter(self) -> ByteMapCursor<'a> {
        self.iter()
    }
}
