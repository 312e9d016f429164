//! A read cache for a snapshot, for small changes.
//!
//! Applying an edit, updating indexes, validating and logging each read the old value of a node: a one-leaf
//! commit reads the same fragment ten times. If each read is a tree descent or a round trip to a server, that
//! dominates the cost. Therefore the first keys that are read are cached. A large change reads each key about
//! once, and must not be slowed down.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};

/// The number of cached keys: more than a one-leaf change reads.
const CACHED_KEYS_MAX: usize = 16;

/// After this many cache misses the change counts as large, and the cache is bypassed.
const MISSES_MAX: usize = 4 * CACHED_KEYS_MAX;

/// Longer values are not cached.
const VALUE_BYTES_MAX: usize = 4 << 10;

// The steps of a commit read the same fragments: docs/decisions/0012.
/// Caches the first values that are read.
pub(crate) struct ReadCache {
    snapshot: Box<dyn Snapshot + Send>,
    /// The cached reads; filled slots come first.
    reads: [OnceCell<CachedRead>; CACHED_KEYS_MAX],
    misses: Cell<usize>,
}

/// A key and its value.
struct CachedRead {
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl ReadCache {
    /// An empty cache over a snapshot.
    pub fn new(snapshot: Box<dyn Snapshot + Send>) -> Self {
        Self {
            snapshot,
            reads: Default::default(),
            misses: Cell::new(0),
        }
    }
}

impl Snapshot for ReadCache {
    fn version(&self) -> Version {
        self.snapshot.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if self.misses.get() > MISSES_MAX {
            return self.snapshot.get(key);
        }
        let mut reads = self.reads.iter().map_while(OnceCell::get);
        if let Some(read) = reads.find(|read| read.key == key) {
            return Ok(read.value.as_deref().map(Cow::Borrowed));
        }
        self.misses.set(self.misses.get() + 1);
        let value = self.snapshot.get(key)?;
        let bytes = value.as_ref().map_or(0, |value| value.len());
        let free = self.reads.iter().find(|read| read.get().is_none());
        let Some(free) = free.filter(|_| bytes <= VALUE_BYTES_MAX) else {
            return Ok(value);
        };
        let read = free.get_or_init(|| CachedRead {
            key: key.to_vec(),
            value: value.map(Cow::into_owned),
        });
        Ok(read.value.as_deref().map(Cow::Borrowed))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.snapshot.scan(range, direction)
    }
}
