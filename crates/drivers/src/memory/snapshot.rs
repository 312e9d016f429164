//! Snapshots and cursors of the memory engine.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};
use imbl::ordmap::RangedIter;
use imbl::shared_ptr::DefaultSharedPtr;

use super::engine::{State, Tree, bounds};

/// A committed state, held.
pub(super) struct MemorySnapshot {
    state: Arc<State>,
}

impl MemorySnapshot {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self { state }
    }
}

impl Snapshot for MemorySnapshot {
    fn version(&self) -> Version {
        self.state.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        let value = self.state.tree.get(key);
        Ok(value.map(|value| Cow::Borrowed(value.as_ref())))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        let tree = &self.state.tree;
        let rest = (!range.is_empty()).then(|| tree.range::<_, [u8]>(bounds(range)));
        Ok(Box::new(MemoryCursor {
            tree,
            range: range.clone(),
            direction,
            rest,
        }))
    }
}

type Rest<'a> = RangedIter<'a, Arc<[u8]>, Arc<[u8]>, DefaultSharedPtr>;

struct MemoryCursor<'a> {
    tree: &'a Tree,
    range: KeyRange,
    direction: Direction,
    /// What is still to come; `None` past the end.
    rest: Option<Rest<'a>>,
}

impl Cursor for MemoryCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let next = self.rest.as_mut().and_then(|rest| match self.direction {
            Direction::Forward => rest.next(),
            Direction::Backward => rest.next_back(),
        });
        Ok(next.map(|(key, value)| (key.as_ref(), value.as_ref())))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let (start, end) = bounds(&self.range);
        let (start, end) = match self.direction {
            Direction::Forward if key > self.range.start.as_slice() => (Bound::Included(key), end),
            Direction::Backward if self.range.is_before_end(key) => (start, Bound::Included(key)),
            _ => (start, end),
        };
        self.rest = holds_any(start, end).then(|| self.tree.range::<_, [u8]>((start, end)));
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
