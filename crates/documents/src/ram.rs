//! Rows in the memory of this process only, for collections with [`crate::Policy::Ram`].

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::{
    ByteMap, Cursor, Direction, KeyRange, Operation, Result, Snapshot, Version,
};
use parking_lot::Mutex;

/// The rows. Only the thread with the turn changes them, so no preconditions are needed.
#[derive(Default)]
pub(crate) struct RamRows {
    state: Mutex<RamSnapshot>,
    /// The newest version, readable without the lock.
    version: AtomicU64,
}

/// The rows at one time. Parts that are not shared are changed in place.
#[derive(Clone, Default)]
pub(crate) struct RamSnapshot {
    version: u64,
    rows: ByteMap,
}

impl RamRows {
    pub(crate) fn snapshot(&self) -> RamSnapshot {
        self.state.lock().clone()
    }

    /// The newest version.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The value of a row.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.state.lock().rows.get(key).map(<[u8]>::to_vec)
    }

    /// Applies operations and returns the new version.
    pub(crate) fn apply(&self, operations: Vec<Operation>) -> Result<Version> {
        let mut state = self.state.lock();
        if !operations.is_empty() {
            let rows = &mut state.rows;
            operations
                .iter()
                .try_for_each(|operation| apply(rows, operation))?;
            state.version += 1;
            self.version.store(state.version, Ordering::Release);
        }
        Ok(Version(state.version))
    }
}

fn apply(rows: &mut ByteMap, operation: &Operation) -> Result<()> {
    match operation {
        Operation::Put { key, value } => rows.insert(key, value),
        Operation::Delete { key } => drop(rows.remove(key)),
        Operation::DeleteRange(range) => drop(rows.remove_range(range)),
        Operation::Add { key, delta } => drop(rows.add(key, *delta)?),
    }
    Ok(())
}

impl Snapshot for RamSnapshot {
    fn version(&self) -> Version {
        Version(self.version)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.rows.get(key).map(Cow::Borrowed))
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(self.rows.scan(range, direction)))
    }
}
