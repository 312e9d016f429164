//! Cursors over a range.

use super::map::ByteMap;
use super::node::{Branch, Node};
use super::page::Page;
use crate::{Cursor, Direction, KeyRange, Result};

/// Iterates over the keys of a range with their values, in the order of a scan.
pub struct ByteMapCursor<'a> {
    map: &'a ByteMap,
    range: KeyRange,
    direction: Direction,
    /// The branches above the current page, each with the index of the child on the path.
    path: Vec<(&'a Branch, usize)>,
    /// The current page and its remaining entries; `None` after the end.
    page: Option<&'a Page>,
    low: usize,
    high: usize,
}

impl<'a> ByteMapCursor<'a> {
    pub(super) fn new(map: &'a ByteMap, range: &KeyRange, direction: Direction) -> Self {
        let mut pairs = Self {
            map,
            range: range.clone(),
            direction,
            path: Vec::new(),
            page: None,
            low: 0,
            high: 0,
        };
        pairs.seek_range(&range.start, range.end.as_deref());
        pairs
    }

    /// Moves as [`Cursor::seek`] does.
    pub fn seek(&mut self, key: &[u8]) {
        let range = std::mem::replace(&mut self.range, KeyRange::all());
        match self.direction {
            Direction::Forward => self.seek_range(key.max(&range.start), range.end.as_deref()),
            Direction::Backward if range.is_before_end(key) => {
                let after = [key, &[0]].concat();
                self.seek_range(&range.start, Some(&after));
            }
            Direction::Backward => self.seek_range(&range.start, range.end.as_deref()),
        }
        self.range = range;
    }

    /// Moves to the start of the keys between `start` and `end`.
    fn seek_range(&mut self, start: &[u8], end: Option<&[u8]>) {
        self.page = None;
        if end.is_some_and(|end| end <= start) {
            return;
        }
        self.path.clear();
        let mut node = self.map.root();
        while let Node::Branch(branch) = node {
            let child = match self.direction {
                Direction::Forward => branch.child_of(start),
                Direction::Backward => {
                    end.map_or(branch.children.len() - 1, |end| branch.child_before(end))
                }
            };
            self.path.push((branch, child));
            node = &branch.children[child];
        }
        self.enter_page(node, Some(start), end);
    }

    /// Enters a page: the entries from `start` to before `end`.
    fn enter_page(&mut self, node: &'a Node, start: Option<&[u8]>, end: Option<&[u8]>) {
        if let Node::Leaf(page) = node {
            let index_of = |key| page.search(key).unwrap_or_else(|index| index);
            (self.low, self.high) = (start.map_or(0, index_of), end.map_or(page.len(), index_of));
            self.page = Some(page);
        }
    }

    /// Moves to the next page in scan order; to none, if this page has keys outside of the range.
    fn next_page(&mut self) {
        let Some(page) = self.page.take() else {
            return;
        };
        let is_last = match self.direction {
            Direction::Forward => self.high < page.len(),
            Direction::Backward => self.low > 0,
        };
        if is_last {
            return;
        }
        while let Some((branch, child)) = self.path.pop() {
            let next = match self.direction {
                Direction::Forward => child + 1,
                Direction::Backward => child.wrapping_sub(1),
            };
            if let Some(node) = branch.children.get(next) {
                self.path.push((branch, next));
                return self.descend(node);
            }
        }
    }

    /// Descends to the first page of a node, in scan order.
    fn descend(&mut self, mut node: &'a Node) {
        while let Node::Branch(branch) = node {
            let child = match self.direction {
                Direction::Forward => 0,
                Direction::Backward => branch.children.len() - 1,
            };
            self.path.push((branch, child));
            node = &branch.children[child];
        }
        let range = std::mem::replace(&mut self.range, KeyRange::all());
        match self.direction {
            Direction::Forward => self.enter_page(node, None, range.end.as_deref()),
            Direction::Backward => self.enter_page(node, Some(&range.start), None),
        }
        self.range = range;
    }
}

impl<'a> Iterator for ByteMapCursor<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let page = self.page?;
            if self.low < self.high {
                let index = match self.direction {
                    Direction::Forward => {
                        self.low += 1;
                        self.low - 1
                    }
                    Direction::Backward => {
                        self.high -= 1;
                        self.high
                    }
                };
                return Some((page.key(index), page.value(index)));
            }
            self.next_page();
        }
    }
}

impl Cursor for ByteMapCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        Ok(Iterator::next(self))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        ByteMapCursor::seek(self, key);
        Ok(())
    }
}
