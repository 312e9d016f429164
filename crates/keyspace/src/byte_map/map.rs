//! The map itself.

use super::node::{Added, Node, Tally};
use super::page::Page;
use super::pairs::Pairs;
use crate::{Direction, KeyRange, Result, counter};

/// Keys and values, in order of the keys. A clone takes constant time, and is not changed by what
/// is done to the other.
#[derive(Clone, Default)]
pub struct ByteMap {
    root: Node,
    tally: Tally,
}

impl ByteMap {
    /// A map of no keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.tally.keys
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of its keys and values.
    pub fn bytes(&self) -> usize {
        self.tally.bytes
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let page = self.page_of(key);
        let index = page.search(key).ok()?;
        Some(page.value(index))
    }

    /// Whether a key has a value.
    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.page_of(key).search(key).is_ok()
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

    /// The root, for who walks the tree.
    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// Sets a key.
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

    /// Adds to the counter of a key, as [`counter::add`] does; absent counts as 0.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Overflow`] where the sum is out of range or the value is no counter;
    /// nothing is changed then.
    pub fn add(&mut self, key: &[u8], delta: i64) -> Result<Added> {
        if let Some(added) = self.root.add(key, delta)? {
            return Ok(added);
        }
        let sum = counter::add(key, None, delta)?;
        self.insert(key, &sum);
        Ok(Added { before: None, sum })
    }

    /// Removes a key; says whether it was there.
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

    /// Removes every key of a range, and returns how many there were.
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

    /// Whether there is a key in a range.
    pub fn has_any(&self, range: &KeyRange) -> bool {
        self.scan(range, Direction::Forward).next().is_some()
    }

    /// The keys of a range with their values.
    pub fn scan(&self, range: &KeyRange, direction: Direction) -> Pairs<'_> {
        Pairs::new(self, range, direction)
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> Pairs<'_> {
        self.scan(&KeyRange::all(), Direction::Forward)
    }
}

impl<'a> IntoIterator for &'a ByteMap {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = Pairs<'a>;

    fn into_iter(self) -> Pairs<'a> {
        self.iter()
    }
}
