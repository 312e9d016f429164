//! A snapshot that a small change reads each key of once.
//!
//! Applying an edit, bringing indexes up to date, validating and logging each ask for what a node
//! held before: a one-leaf commit asks for the same fragment ten times. Where each time is a
//! descent, or a round trip to a server, that is most of its cost. So the first keys that are read
//! are remembered. A large change reads each key about once, and is not slowed down.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};

/// So many keys are remembered: more than a change of one leaf reads.
const KEYS: usize = 16;

/// After so many readings that were not remembered it is a large change, and nothing is looked for.
const MISSES_MAX: usize = 4 * KEYS;

/// Longer values are not copied to be remembered.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// Remembers what is read first.
pub(crate) struct ReadOnce {
    snapshot: Box<dyn Snapshot + Send>,
    /// What was read; those that are not empty come first.
    read: [OnceCell<Reading>; KEYS],
    misses: Cell<usize>,
}

/// A key and what it holds.
struct Reading {
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl ReadOnce {
    /// Nothing is remembered at first.
    pub fn new(snapshot: Box<dyn Snapshot + Send>) -> Self {
        Self {
            snapshot,
            read: Default::default(),
            misses: Cell::new(0),
        }
    }
}

impl Snapshot for ReadOnce {
    fn version(&self) -> Version {
        self.snapshot.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if self.misses.get() > MISSES_MAX {
            return self.snapshot.get(key);
        }
        let mut readings = self.read.iter().map_while(OnceCell::get);
        if let Some(reading) = readings.find(|reading| reading.key == key) {
            return Ok(reading.value.as_deref().map(Cow::Borrowed));
        }
        self.misses.set(self.misses.get() + 1);
        let value = self.snapshot.get(key)?;
        let bytes = value.as_ref().map_or(0, |value| value.len());
        let free = self.read.iter().find(|reading| reading.get().is_none());
        let Some(free) = free.filter(|_| bytes <= VALUE_BYTES_MAX) else {
            return Ok(value);
        };
        let reading = free.get_or_init(|| Reading {
            key: key.to_vec(),
            value: value.map(Cow::into_owned),
        });
        Ok(reading.value.as_deref().map(Cow::Borrowed))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.snapshot.scan(range, direction)
    }
}
