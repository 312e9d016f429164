//! Rows that are kept in the memory of this process only: the collections of [`crate::Policy::Ram`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::{
    Cursor, Direction, KeyRange, Operation, Result, Snapshot, Version, counter,
};
use parking_lot::Mutex;
use smallvec::SmallVec;

/// Bytes of a key that stand in the tree itself, so that a search follows no pointer for each
/// comparison: those of short values.
const INLINE_BYTES: usize = 32;

type Key = SmallVec<[u8; INLINE_BYTES]>;
type Tree = BTreeMap<Key, Vec<u8>>;

/// The rows. Changed by whoever leads, so that no preconditions are needed.
#[derive(Default)]
pub(crate) struct RamRows {
    state: Mutex<RamSnapshot>,
    /// The newest version, to be looked at without the lock.
    version: AtomicU64,
}

/// The rows at one time. Holding it makes the next change copy them.
#[derive(Clone, Default)]
pub(crate) struct RamSnapshot {
    version: u64,
    rows: Arc<Tree>,
}

impl RamRows {
    pub(crate) fn snapshot(&self) -> RamSnapshot {
        self.state.lock().clone()
    }

    /// The newest version.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// What a row holds now.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.state.lock().rows.get(key).cloned()
    }

    /// Applies operations, and returns the version that they make.
    pub(crate) fn apply(&self, operations: Vec<Operation>) -> Result<Version> {
        let mut state = self.state.lock();
        if !operations.is_empty() {
            let rows = Arc::make_mut(&mut state.rows);
            operations
                .into_iter()
                .try_for_each(|operation| apply(rows, operation))?;
            state.version += 1;
            self.version.store(state.version, Ordering::Release);
        }
        Ok(Version(state.version))
    }
}

fn apply(rows: &mut Tree, operation: Operation) -> Result<()> {
    match operation {
        Operation::Put { key, value } => drop(rows.insert(Key::from_slice(&key), value)),
        Operation::Delete { key } => drop(rows.remove(key.as_slice())),
        Operation::DeleteRange(range) => rows.retain(|key, _| !range.contains(key)),
        Operation::Add { key, delta } => {
            let sum = counter::add(&key, rows.get(key.as_slice()).map(Vec::as_slice), delta)?;
            rows.insert(Key::from_slice(&key), sum.to_vec());
        }
    }
    Ok(())
}

impl Snapshot for RamSnapshot {
    fn version(&self) -> Version {
        Version(self.version)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self
            .rows
            .get(key)
            .map(|value| Cow::Borrowed(value.as_slice())))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(RamCursor {
            rows: &self.rows,
            range: range.clone(),
            direction,
            rest: rest(
                &self.rows,
                &range.start,
                range
                    .end
                    .as_deref()
                    .map_or(Bound::Unbounded, Bound::Excluded),
            ),
        }))
    }
}

fn rest<'a>(rows: &'a Tree, start: &[u8], end: Bound<&[u8]>) -> Option<Range<'a, Key, Vec<u8>>> {
    let is_empty = match end {
        Bound::Excluded(end) => end <= start,
        Bound::Included(end) => end < start,
        Bound::Unbounded => false,
    };
    (!is_empty).then(|| rows.range::<[u8], _>((Bound::Included(start), end)))
}

struct RamCursor<'a> {
    rows: &'a Tree,
    range: KeyRange,
    direction: Direction,
    rest: Option<Range<'a, Key, Vec<u8>>>,
}

impl Cursor for RamCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let next = self.rest.as_mut().and_then(|rest| match self.direction {
            Direction::Forward => rest.next(),
            Direction::Backward => rest.next_back(),
        });
        Ok(next.map(|(key, value)| (key.as_slice(), value.as_slice())))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let end = self
            .range
            .end
            .as_deref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        self.rest = match self.direction {
            Direction::Forward => rest(self.rows, self.range.start.as_slice().max(key), end),
            Direction::Backward if self.range.is_before_end(key) => {
                rest(self.rows, &self.range.start, Bound::Included(key))
            }
            Direction::Backward => rest(self.rows, &self.range.start, end),
        };
        Ok(())
    }
}
