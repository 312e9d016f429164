//! Snapshots and cursors of the memory engine.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};
use imbl::ordmap::RangedIter;
use imbl::shared_ptr::DefaultSharedPtr;

use super::engine::{State, Tree, bounds};

/// A committed state, held.
pub(crate) struct MemorySnapshot {
    state: Arc<State>,
}

impl MemorySnapshot {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self { state }
    }
}

impl Snapshot for MemorySnapshot {
    fn version(&self) -> Version {
        self.state.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(get(&self.state.tree, key))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        let tree = &self.state.tree;
        Ok(Box::new(MemoryCursor::new(tree, range, direction)))
    }
}

/// A state that is being written.
pub(super) struct UnfinishedSnapshot<'a> {
    /// The version of the state that the write began with.
    pub(super) before: Version,
    pub(super) tree: &'a Tree,
}

impl Snapshot for UnfinishedSnapshot<'_> {
    fn version(&self) -> Version {
        self.before
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(get(self.tree, key))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(MemoryCursor::new(self.tree, range, direction)))
    }
}

fn get<'a>(tree: &'a Tree, key: &[u8]) -> Option<Cow<'a, [u8]>> {
    tree.get(key).map(|value| Cow::Borrowed(value.as_ref()))
}

type Rest<'a, V> = RangedIter<'a, Arc<[u8]>, V, DefaultSharedPtr>;

/// The pairs of a range, in the order of a scan.
pub(crate) struct Pairs<'a, V> {
    tree: &'a Tree<V>,
    range: KeyRange,
    direction: Direction,
    /// What is still to come; `None` past the end.
    rest: Option<Rest<'a, V>>,
}

impl<'a, V: Clone> Pairs<'a, V> {
    pub(crate) fn new(tree: &'a Tree<V>, range: &KeyRange, direction: Direction) -> Self {
        let rest = (!range.is_empty()).then(|| tree.range::<_, [u8]>(bounds(range)));
        Self {
            tree,
            range: range.clone(),
            direction,
            rest,
        }
    }

    /// Moves as [`Cursor::seek`] does.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        let (start, end) = bounds(&self.range);
        let (start, end) = match self.direction {
            Direction::Forward if key > self.range.start.as_slice() => (Bound::Included(key), end),
            Direction::Backward if self.range.is_before_end(key) => (start, Bound::Included(key)),
            _ => (start, end),
        };
        self.rest = holds_any(start, end).then(|| self.tree.range::<_, [u8]>((start, end)));
    }
}

impl<'a, V: Clone> Iterator for Pairs<'a, V> {
    type Item = (&'a Arc<[u8]>, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.as_mut()?;
        match self.direction {
            Direction::Forward => rest.next(),
            Direction::Backward => rest.next_back(),
        }
    }
}

struct MemoryCursor<'a> {
    pairs: Pairs<'a, Arc<[u8]>>,
}

impl<'a> MemoryCursor<'a> {
    fn new(tree: &'a Tree, range: &KeyRange, direction: Direction) -> Self {
        Self {
            pairs: Pairs::new(tree, range, direction),
        }
    }
}

impl Cursor for MemoryCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let next = self.pairs.next();
        Ok(next.map(|(key, value)| (key.as_ref(), value.as_ref())))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.pairs.seek(key);
        Ok(())
    }
}

/// Whether keys can lie between the bounds.
fn holds_any(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Included(start), Bound::Included(end)) => start <= end,
        (Bound::Included(start), Bound::Excluded(end)) => start < end,
        _ => true,
    }
}
