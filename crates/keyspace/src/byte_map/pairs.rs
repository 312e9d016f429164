//! A walk through a range.

use super::map::ByteMap;
use super::node::{Branch, Node};
use super::page::Page;
use crate::{Cursor, Direction, KeyRange, Result};

/// The keys of a range with their values, in the order of a scan.
pub struct Pairs<'a> {
    map: &'a ByteMap,
    range: KeyRange,
    direction: Direction,
    /// The branches above the page, each with the child that was taken.
    above: Vec<(&'a Branch, usize)>,
    /// The page, and what of it is still to come; none past the end.
    page: Option<&'a Page>,
    low: usize,
    high: usize,
}

impl<'a> Pairs<'a> {
    pub(super) fn new(map: &'a ByteMap, range: &KeyRange, direction: Direction) -> Self {
        let mut pairs = Self {
            map,
            range: range.clone(),
            direction,
            above: Vec::new(),
            page: None,
            low: 0,
            high: 0,
        };
        pairs.begin(&range.start, range.end.as_deref());
        pairs
    }

    /// Moves as [`Cursor::seek`] does.
    pub fn seek(&mut self, key: &[u8]) {
        let range = std::mem::replace(&mut self.range, KeyRange::all());
        match self.direction {
            Direction::Forward => self.begin(key.max(&range.start), range.end.as_deref()),
            Direction::Backward if range.is_before_end(key) => {
                let after = [key, &[0]].concat();
                self.begin(&range.start, Some(&after));
            }
            Direction::Backward => self.begin(&range.start, range.end.as_deref()),
        }
        self.range = range;
    }

    /// Goes to where the keys from `start` to before `end` begin.
    fn begin(&mut self, start: &[u8], end: Option<&[u8]>) {
        self.page = None;
        if end.is_some_and(|end| end <= start) {
            return;
        }
        self.above.clear();
        let mut node = self.map.root();
        while let Node::Branch(branch) = node {
            let child = match self.direction {
                Direction::Forward => branch.child_of(start),
                Direction::Backward => {
                    end.map_or(branch.children.len() - 1, |end| branch.child_before(end))
                }
            };
            self.above.push((branch, child));
            node = &branch.children[child];
        }
        self.enter(node, Some(start), end);
    }

    /// Begins with a page: the keys in it from `start` to before `end`.
    fn enter(&mut self, node: &'a Node, start: Option<&[u8]>, end: Option<&[u8]>) {
        if let Node::Leaf(page) = node {
            let place = |key| page.search(key).unwrap_or_else(|index| index);
            (self.low, self.high) = (start.map_or(0, place), end.map_or(page.len(), place));
            self.page = Some(page);
        }
    }

    /// Goes to the page after this one, in the order of the scan; there is none where this one has
    /// keys outside of the range.
    fn leave(&mut self) {
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
        while let Some((branch, child)) = self.above.pop() {
            let next = match self.direction {
                Direction::Forward => child + 1,
                Direction::Backward => child.wrapping_sub(1),
            };
            if let Some(node) = branch.children.get(next) {
                self.above.push((branch, next));
                return self.descend(node);
            }
        }
    }

    /// Goes to the first page of a node, in the order of the scan.
    fn descend(&mut self, mut node: &'a Node) {
        while let Node::Branch(branch) = node {
            let child = match self.direction {
                Direction::Forward => 0,
                Direction::Backward => branch.children.len() - 1,
            };
            self.above.push((branch, child));
            node = &branch.children[child];
        }
        let range = std::mem::replace(&mut self.range, KeyRange::all());
        match self.direction {
            Direction::Forward => self.enter(node, None, range.end.as_deref()),
            Direction::Backward => self.enter(node, Some(&range.start), None),
        }
        self.range = range;
    }
}

impl<'a> Iterator for Pairs<'a> {
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
            self.leave();
        }
    }
}

impl Cursor for Pairs<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        Ok(Iterator::next(self))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        Pairs::seek(self, key);
        Ok(())
    }
}
