//! The in-memory buffer of a streamed write.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use espalier_keyspace::{
    BATCH_BYTES_MAX, Direction, Error, ErrorKind, KeyExisted, KeyRange, Operation, OperationRef,
    Result, Snapshot, Version, Writer, counter, is_key,
};

use super::read_set::ReadSet;
use super::view::WriteView;
use crate::range_set::RangeSet;

/// Maximum bytes of keys and values in one streamed write, which is buffered in memory: 1 GiB.
pub(crate) const WRITE_BYTES_MAX: usize = BATCH_BYTES_MAX;

/// Maximum number of windows of the snapshot that are cached, so that keys written in order are not read
/// one by one.
const WINDOWS_MAX: usize = 16;

/// The number of entries in a window.
const WINDOW_PAIRS: usize = 16;

/// The state of a changed key.
pub(super) enum KeyState {
    /// Set by the operation with this index.
    Put(usize),
    /// A counter sum that does not depend on the snapshot.
    Sum([u8; counter::COUNTER_BYTES]),
    /// A counter sum, and the snapshot's value that it is based on.
    SumOnSnapshot([u8; counter::COUNTER_BYTES], Option<Vec<u8>>),
    Deleted,
}

pub(super) struct Buffer {
    pub(super) base: Box<dyn Snapshot + Send>,
    operations: Vec<Operation>,
    bytes: usize,
    /// The keys that were changed individually after their last range deletion.
    pub(super) changed: BTreeMap<Vec<u8>, KeyState>,
    /// The deleted ranges.
    pub(super) deleted: RangeSet,
    windows: Vec<Window>,
    /// Everything read from the snapshot, also by views that borrow the buffer.
    pub(super) reads: RefCell<ReadSet>,
}

/// All pairs of the snapshot in a range.
struct Window {
    range: KeyRange,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Window {
    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let at = self
            .pairs
            .binary_search_by(|(held, _)| held.as_slice().cmp(key));
        at.ok().map(|at| self.pairs[at].1.as_slice())
    }
}

impl Buffer {
    pub(super) fn over(base: Box<dyn Snapshot + Send>) -> Self {
        Self {
            base,
            operations: Vec::new(),
            bytes: 0,
            changed: BTreeMap::new(),
            deleted: RangeSet::default(),
            windows: Vec::new(),
            reads: RefCell::default(),
        }
    }

    /// Returns the operations, the read set, and the version of the snapshot.
    pub(super) fn finish(self) -> (Vec<Operation>, ReadSet, Version) {
        let base_version = self.base.version();
        (self.operations, self.reads.into_inner(), base_version)
    }

    fn push(&mut self, operation: Operation) -> Result<()> {
        self.bytes += operation.as_ref().bytes();
        if self.bytes > WRITE_BYTES_MAX {
            let message = format!(
                "a write of more than {WRITE_BYTES_MAX} bytes is too large for this engine; \
                 split it"
            );
            return Err(Error::new(ErrorKind::BatchTooLarge, message));
        }
        self.operations.push(operation);
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (key, value) = (key.to_vec(), value.to_vec());
        let own = key.clone();
        self.push(Operation::Put { key, value })?;
        self.changed
            .insert(own, KeyState::Put(self.operations.len() - 1));
        Ok(())
    }

    fn value(&self, state: &KeyState) -> Option<Cow<'_, [u8]>> {
        match state {
            KeyState::Deleted => None,
            KeyState::Sum(sum) | KeyState::SumOnSnapshot(sum, _) => Some(Cow::Owned(sum.to_vec())),
            KeyState::Put(at) => match &self.operations[*at] {
                Operation::Put { value, .. } => Some(Cow::Borrowed(value)),
                _ => None,
            },
        }
    }

    /// The value of a changed key; records the snapshot's value if it depends on it.
    pub(super) fn state_value(&self, key: &[u8], state: &KeyState) -> Option<Cow<'_, [u8]>> {
        if let KeyState::SumOnSnapshot(_, held) = state {
            self.reads.borrow_mut().record_key(key, held.as_deref());
        }
        self.value(state)
    }

    /// Reads a key from the buffer, recording what the value depends on; `None` if the write has not
    /// changed the key.
    pub(super) fn read_buffered(&self, key: &[u8]) -> Option<Option<Cow<'_, [u8]>>> {
        match self.changed.get(key) {
            Some(state) => Some(self.state_value(key, state)),
            None => self.deleted.around(key).map(|_| None),
        }
    }

    /// Whether the snapshot is known to have no value for a key, without reading it.
    pub(super) fn is_known_empty_at(&self, key: &[u8]) -> bool {
        self.reads.borrow().is_known_empty_at(key)
    }

    /// The buffered value of a key, for the write itself; `None` if the write has not changed the key.
    fn buffered_value(&self, key: &[u8]) -> Option<Option<Cow<'_, [u8]>>> {
        match self.changed.get(key) {
            Some(state) => Some(self.value(state)),
            None => self.deleted.around(key).map(|_| None),
        }
    }

    /// The snapshot's value, read through the windows.
    fn snapshot_value(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let window = self
            .windows
            .iter()
            .position(|window| window.range.contains(key));
        let at = match window {
            Some(at) => at,
            None => self.open_window(key)?,
        };
        Ok(self.windows[at].get(key))
    }

    fn open_window(&mut self, key: &[u8]) -> Result<usize> {
        let mut range = KeyRange {
            start: key.to_vec(),
            end: None,
        };
        let mut pairs = Vec::with_capacity(WINDOW_PAIRS);
        let mut cursor = self.base.scan(&range, Direction::Forward)?;
        while let Some((key, value)) = cursor.next()? {
            pairs.push((key.to_vec(), value.to_vec()));
            if pairs.len() == WINDOW_PAIRS {
                // The successor of this key.
                range.end = Some([key, &[0]].concat());
                break;
            }
        }
        drop(cursor);
        if self.windows.len() == WINDOWS_MAX {
            self.windows.remove(0);
        }
        self.windows.push(Window { range, pairs });
        Ok(self.windows.len() - 1)
    }

    /// Reads a key from the snapshot and records the read.
    fn read_snapshot(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.is_known_empty_at(key) {
            return Ok(None);
        }
        let held = self.snapshot_value(key)?.map(<[u8]>::to_vec);
        self.reads.get_mut().record_key(key, held.as_deref());
        Ok(held)
    }
}

impl Writer for Buffer {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.set(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<KeyExisted> {
        OperationRef::Put(key, value).check_limits()?;
        let exists = match self.buffered_value(key) {
            Some(own) => own.is_some(),
            None => self.read_snapshot(key)?.is_some(),
        };
        if exists {
            return Ok(KeyExisted::Yes);
        }
        self.set(key, value)?;
        Ok(KeyExisted::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if !is_key(key) {
            return Ok(None);
        }
        if self.buffered_value(key).is_none() {
            return Ok(self.read_snapshot(key)?.map(Cow::Owned));
        }
        Ok(self.read_buffered(key).flatten())
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(WriteView(self)))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.push(Operation::Delete { key: key.to_vec() })?;
        self.changed.insert(key.to_vec(), KeyState::Deleted);
        Ok(())
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.push(Operation::DeleteRange(range.clone()))?;
        let within: Vec<_> = self.changed.range::<[u8], _>(range.bounds()).collect();
        let within: Vec<_> = within.into_iter().map(|(key, _)| key.clone()).collect();
        for key in within {
            self.changed.remove(&key);
        }
        self.deleted.insert(range);
        Ok(())
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        let state = match self.changed.get(key) {
            Some(KeyState::SumOnSnapshot(sum, held)) => {
                KeyState::SumOnSnapshot(counter::add(key, Some(sum), delta)?, held.clone())
            }
            Some(state) => KeyState::Sum(counter::add(key, self.value(state).as_deref(), delta)?),
            None if self.deleted.around(key).is_some() => {
                KeyState::Sum(counter::add(key, None, delta)?)
            }
            None => {
                let held = self.snapshot_value(key)?.map(<[u8]>::to_vec);
                KeyState::SumOnSnapshot(counter::add(key, held.as_deref(), delta)?, held)
            }
        };
        let key = key.to_vec();
        let own = key.clone();
        self.push(Operation::Add { key, delta })?;
        self.changed.insert(own, state);
        Ok(())
    }
}
