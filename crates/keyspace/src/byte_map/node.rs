//! The nodes of the tree: leaf pages and branches.

use std::sync::Arc;

use super::page::{Page, separator};
use crate::Result;
use crate::counter::{self, COUNTER_BYTES};

/// Maximum number of children of a branch. Copying a branch increments the reference count of each.
const CHILDREN_MAX: usize = 64;

/// A tree or subtree.
#[derive(Clone)]
pub(super) enum Node {
    Leaf(Arc<Page>),
    Branch(Arc<Branch>),
}

/// An inner node: ordered children.
#[derive(Clone)]
pub(super) struct Branch {
    /// One separator between each two adjacent children: at most the first key of the second, greater than
    /// every key of the first.
    separators: Page,
    pub(super) children: Vec<Node>,
}

/// The result of an insertion.
pub(super) struct Inserted {
    /// Bytes of the replaced value.
    pub(super) before: Option<usize>,
    /// The right half, if the node was split: its separator and the new node.
    pub(super) split: Option<(Vec<u8>, Node)>,
}

/// The result of adding to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterUpdate {
    /// The previous value of the key; `None` if it was absent.
    pub before: Option<[u8; COUNTER_BYTES]>,
    /// The new value.
    pub sum: [u8; COUNTER_BYTES],
}

/// Number of keys, and bytes of the keys and their values.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) keys: usize,
    pub(super) bytes: usize,
}

impl Default for Node {
    fn default() -> Self {
        Self::Leaf(Arc::default())
    }
}

impl Branch {
    /// Index of the child that contains a key.
    pub(super) fn child_of(&self, key: &[u8]) -> usize {
        match self.separators.search(key) {
            Ok(index) => index + 1,
            Err(index) => index,
        }
    }

    /// Index of the last child with keys before `end`.
    pub(super) fn child_before(&self, end: &[u8]) -> usize {
        match self.separators.search(end) {
            Ok(index) | Err(index) => index,
        }
    }

    /// Splits the branch if it is too large; returns the right half.
    fn split(&mut self, inserted: usize) -> Option<(Vec<u8>, Node)> {
        if self.children.len() <= CHILDREN_MAX && !self.separators.is_over_full() {
            return None;
        }
        let at = self.separators.split_index(inserted);
        let children = self.children.split_off(at + 1);
        let separator = self.separators.key(at).to_vec();
        let separators = match at + 1 < self.separators.len() {
            true => self.separators.split_off(at + 1),
            false => Page::default(),
        };
        self.separators.remove(at);
        let right = Self {
            separators,
            children,
        };
        Some((separator, Node::Branch(Arc::new(right))))
    }

    fn remove_child(&mut self, index: usize) {
        self.children.remove(index);
        if self.separators.len() > 0 {
            self.separators.remove(index.saturating_sub(1));
        }
    }

    /// Rebalances after keys were removed from a child: removes an empty child, joins a small one with a
    /// neighbour.
    fn rebalance(&mut self, index: usize) {
        if self.children[index].is_empty() {
            return self.remove_child(index);
        }
        if !self.children[index].is_small() {
            return;
        }
        if index + 1 < self.children.len() && self.join(index) {
            return;
        }
        if index > 0 {
            self.join(index - 1);
        }
    }

    /// Joins a child with the next one if both fit into one; returns whether they do.
    fn join(&mut self, index: usize) -> bool {
        let (left, right) = self.children.split_at_mut(index + 1);
        let (left, right) = (&mut left[index], &right[0]);
        if left.is_empty() {
            return false;
        }
        let is_joined = match (left, right) {
            (Node::Leaf(left), Node::Leaf(right)) if left.fits_with(right) => {
                Arc::make_mut(left).append(right);
                true
            }
            (Node::Branch(left), Node::Branch(right)) if left.fits_with(right) => {
                let left = Arc::make_mut(left);
                let count = left.separators.len();
                left.separators
                    .insert(count, self.separators.key(index), &[]);
                left.separators.append(&right.separators);
                left.children.extend_from_slice(&right.children);
                true
            }
            _ => false,
        };
        if is_joined {
            self.children.remove(index + 1);
            self.separators.remove(index);
        }
        is_joined
    }

    fn fits_with(&self, other: &Self) -> bool {
        self.children.len() + other.children.len() <= CHILDREN_MAX / 4 * 3
            && self.separators.fits_with(&other.separators)
    }
}

impl Node {
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> Inserted {
        match self {
            Self::Leaf(page) => {
                let page = Arc::make_mut(page);
                let (index, before) = page.set(key, value);
                let split = page.is_over_full().then(|| {
                    let right = page.split_off(page.split_index(index));
                    (separator(page, &right), Self::Leaf(Arc::new(right)))
                });
                Inserted { before, split }
            }
            Self::Branch(branch) => {
                let branch = Arc::make_mut(branch);
                let index = branch.child_of(key);
                let Inserted { before, split } = branch.children[index].insert(key, value);
                let split = split.and_then(|(separator, right)| {
                    branch.separators.insert(index, &separator, &[]);
                    branch.children.insert(index + 1, right);
                    branch.split(index)
                });
                Inserted { before, split }
            }
        }
    }

    /// The last key at or before `key`, with its value.
    pub(super) fn floor(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Leaf(page) => {
                let after = page
                    .search(key)
                    .map_or_else(|index| index, |index| index + 1);
                let index = after.checked_sub(1)?;
                Some((page.key(index), page.value(index)))
            }
            // A separator may be less than the first key after it.
            Self::Branch(branch) => {
                let children = &branch.children[..=branch.child_of(key)];
                children.iter().rev().find_map(|child| child.floor(key))
            }
        }
    }

    /// Adds to the counter at a key; returns `None` if the key is absent.
    pub(super) fn add(&mut self, key: &[u8], delta: i64) -> Result<Option<CounterUpdate>> {
        match self {
            Self::Leaf(page) => {
                let Ok(index) = page.search(key) else {
                    return Ok(None);
                };
                let held = page.value(index);
                let sum = counter::add(key, Some(held), delta)?;
                let before = held.try_into().ok();
                Arc::make_mut(page).replace(index, &sum);
                Ok(Some(CounterUpdate { before, sum }))
            }
            Self::Branch(branch) => {
                let branch = Arc::make_mut(branch);
                let index = branch.child_of(key);
                branch.children[index].add(key, delta)
            }
        }
    }

    /// Removes a key that is present; returns the bytes of its value.
    pub(super) fn remove(&mut self, key: &[u8]) -> usize {
        match self {
            Self::Leaf(page) => {
                let page = Arc::make_mut(page);
                page.search(key).map_or(0, |index| page.remove(index))
            }
            Self::Branch(branch) => {
                let branch = Arc::make_mut(branch);
                let index = branch.child_of(key);
                let before = branch.children[index].remove(key);
                branch.rebalance(index);
                before
            }
        }
    }

    /// Removes the keys of a range, and adds them to `removed`.
    pub(super) fn remove_range(
        &mut self,
        start: Option<&[u8]>,
        end: Option<&[u8]>,
        removed: &mut Tally,
    ) {
        match self {
            Self::Leaf(page) => {
                let index_of = |key| page.search(key).unwrap_or_else(|index| index);
                let range = start.map_or(0, index_of)..end.map_or(page.len(), index_of);
                if range.is_empty() {
                    return;
                }
                let page = Arc::make_mut(page);
                removed.keys += range.len();
                removed.bytes += page.content_bytes();
                page.remove_between(range);
                removed.bytes -= page.content_bytes();
            }
            Self::Branch(branch) => {
                let branch = Arc::make_mut(branch);
                let first = start.map_or(0, |start| branch.child_of(start));
                let last = end.map_or(branch.children.len() - 1, |end| branch.child_before(end));
                if first >= last {
                    branch.children[first].remove_range(start, end, removed);
                    return branch.rebalance(first);
                }
                branch.children[first].remove_range(start, None, removed);
                branch.children[last].remove_range(None, end, removed);
                for child in branch.children.drain(first + 1..last) {
                    child.count(removed);
                }
                branch.separators.remove_between(first + 1..last);
                branch.rebalance(first + 1);
                branch.rebalance(first);
            }
        }
    }

    /// Adds all keys of the subtree to `tally`.
    fn count(&self, tally: &mut Tally) {
        match self {
            Self::Leaf(page) => {
                tally.keys += page.len();
                tally.bytes += page.content_bytes();
            }
            Self::Branch(branch) => {
                branch.children.iter().for_each(|child| child.count(tally));
            }
        }
    }

    /// Replaces the root by a branch over itself and the node split off from it.
    pub(super) fn grow(&mut self, separator: &[u8], right: Self) {
        let mut separators = Page::default();
        separators.insert(0, separator, &[]);
        let children = vec![std::mem::take(self), right];
        *self = Self::Branch(Arc::new(Branch {
            separators,
            children,
        }));
    }

    /// Removes branches that have at most one child.
    pub(super) fn shrink(&mut self) {
        while let Self::Branch(branch) = self {
            *self = match branch.children.as_slice() {
                [] => Self::default(),
                [only] => only.clone(),
                _ => return,
            };
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Leaf(page) => page.len() == 0,
            Self::Branch(branch) => branch.children.is_empty(),
        }
    }

    fn is_small(&self) -> bool {
        match self {
            Self::Leaf(page) => page.is_small(),
            Self::Branch(branch) => branch.children.len() < CHILDREN_MAX / 4,
        }
    }
}
