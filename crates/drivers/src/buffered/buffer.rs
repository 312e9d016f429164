//! What a write says, in memory.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use espalier_keyspace::{
    BATCH_BYTES_MAX, Direction, Error, ErrorKind, Existed, KeyRange, Operation, OperationRef,
    Result, Snapshot, Version, Writer, counter, is_key,
};

use super::reads::Reads;
use super::view::Unfinished;
use crate::range_set::RangeSet;

/// Bytes of keys and values in one streamed write, as it is kept in memory: 1 GiB.
pub(crate) const WRITE_BYTES_MAX: usize = BATCH_BYTES_MAX;

/// Stretches of the snapshot that are remembered, so that keys that are written in order are not
/// asked for one by one.
const WINDOWS_MAX: usize = 16;

/// Pairs in such a stretch.
const WINDOW_PAIRS: usize = 16;

/// What a key holds in the write.
pub(super) enum Slot {
    /// The value of the operation with this number.
    Put(usize),
    /// A sum.
    Sum([u8; counter::COUNTER_BYTES]),
    /// A sum with what the snapshot holds, which is this.
    SumOfHeld([u8; counter::COUNTER_BYTES], Option<Vec<u8>>),
    Absent,
}

pub(super) struct Buffer {
    pub(super) base: Box<dyn Snapshot + Send>,
    operations: Vec<Operation>,
    bytes: usize,
    /// The keys that the write changed one by one, after their last deletion by the range.
    pub(super) own: BTreeMap<Vec<u8>, Slot>,
    /// The ranges that it deleted.
    pub(super) gone: RangeSet,
    windows: Vec<Window>,
    /// What it was told of the snapshot, also by views that are read while they are lent.
    pub(super) reads: RefCell<Reads>,
}

/// Everything that the snapshot holds between two keys.
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
            own: BTreeMap::new(),
            gone: RangeSet::default(),
            windows: Vec::new(),
            reads: RefCell::default(),
        }
    }

    /// What it says, what it was told, and the version of that.
    pub(super) fn finish(self) -> (Vec<Operation>, Reads, Version) {
        let seen = self.base.version();
        (self.operations, self.reads.into_inner(), seen)
    }

    fn push(&mut self, operation: Operation) -> Result<()> {
        self.bytes += operation.as_ref().bytes();
        if self.bytes > WRITE_BYTES_MAX {
            let message = format!(
                "a write of more than {WRITE_BYTES_MAX} bytes is too large for this engine; \
                 divide it"
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
        self.own.insert(own, Slot::Put(self.operations.len() - 1));
        Ok(())
    }

    fn value(&self, slot: &Slot) -> Option<Cow<'_, [u8]>> {
        match slot {
            Slot::Absent => None,
            Slot::Sum(sum) | Slot::SumOfHeld(sum, _) => Some(Cow::Owned(sum.to_vec())),
            Slot::Put(at) => match &self.operations[*at] {
                Operation::Put { value, .. } => Some(Cow::Borrowed(value)),
                _ => None,
            },
        }
    }

    /// What a slot tells a reader.
    pub(super) fn shown(&self, key: &[u8], slot: &Slot) -> Option<Cow<'_, [u8]>> {
        if let Slot::SumOfHeld(_, held) = slot {
            self.reads.borrow_mut().key(key, held.as_deref());
        }
        self.value(slot)
    }

    /// What the write itself tells a reader of a key; `None` where it says nothing.
    pub(super) fn told(&self, key: &[u8]) -> Option<Option<Cow<'_, [u8]>>> {
        match self.own.get(key) {
            Some(slot) => Some(self.shown(key, slot)),
            None => self.gone.around(key).map(|_| None),
        }
    }

    /// Whether it is known without a look at the snapshot that it holds nothing.
    pub(super) fn is_bare_at(&self, key: &[u8]) -> bool {
        self.reads.borrow().is_bare_at(key)
    }

    /// What the write itself says of a key; `None` where it says nothing.
    fn own(&self, key: &[u8]) -> Option<Option<Cow<'_, [u8]>>> {
        match self.own.get(key) {
            Some(slot) => Some(self.value(slot)),
            None => self.gone.around(key).map(|_| None),
        }
    }

    /// What the snapshot holds, through the windows.
    fn held(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let known = self
            .windows
            .iter()
            .position(|window| window.range.contains(key));
        let at = match known {
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
                // The first key after this one.
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

    /// What the snapshot tells a reader.
    fn told_by_base(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.is_bare_at(key) {
            return Ok(None);
        }
        let held = self.held(key)?.map(<[u8]>::to_vec);
        self.reads.get_mut().key(key, held.as_deref());
        Ok(held)
    }
}

impl Writer for Buffer {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.set(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        let there = match self.own(key) {
            Some(own) => own.is_some(),
            None => self.told_by_base(key)?.is_some(),
        };
        if there {
            return Ok(Existed::Yes);
        }
        self.set(key, value)?;
        Ok(Existed::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if !is_key(key) {
            return Ok(None);
        }
        if self.own(key).is_none() {
            return Ok(self.told_by_base(key)?.map(Cow::Owned));
        }
        Ok(self.told(key).flatten())
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(Unfinished(self)))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.push(Operation::Delete { key: key.to_vec() })?;
        self.own.insert(key.to_vec(), Slot::Absent);
        Ok(())
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.push(Operation::DeleteRange(range.clone()))?;
        let within: Vec<_> = self.own.range::<[u8], _>(range.bounds()).collect();
        let within: Vec<_> = within.into_iter().map(|(key, _)| key.clone()).collect();
        for key in within {
            self.own.remove(&key);
        }
        self.gone.insert(range);
        Ok(())
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        let slot = match self.own.get(key) {
            Some(Slot::SumOfHeld(sum, held)) => {
                Slot::SumOfHeld(counter::add(key, Some(sum), delta)?, held.clone())
            }
            Some(slot) => Slot::Sum(counter::add(key, self.value(slot).as_deref(), delta)?),
            None if self.gone.around(key).is_some() => Slot::Sum(counter::add(key, None, delta)?),
            None => {
                let held = self.held(key)?.map(<[u8]>::to_vec);
                Slot::SumOfHeld(counter::add(key, held.as_deref(), delta)?, held)
            }
        };
        let key = key.to_vec();
        let own = key.clone();
        self.push(Operation::Add { key, delta })?;
        self.own.insert(own, slot);
        Ok(())
    }
}
