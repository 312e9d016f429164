//! A set of changes that happens as a whole or not at all.

use crate::{
    BATCH_BYTES_MAX, Error, ErrorKind, KEY_BYTES_MAX, KeyRange, Result, VALUE_BYTES_MAX, Version,
    is_key,
};

/// What must hold for a batch to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    /// The key that is tested.
    pub key: Vec<u8>,
    /// The value that it must hold; `None` means that it must be absent.
    pub value: Option<Vec<u8>>,
}

/// One change, owned. See [`OperationRef`] for the meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The key holds the value afterwards.
    Put {
        /// The key.
        key: Vec<u8>,
        /// The value it holds afterwards.
        value: Vec<u8>,
    },
    /// The key is absent afterwards.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// Every key of the range is absent afterwards.
    DeleteRange(KeyRange),
    /// A counter: see [`OperationRef::Add`].
    Add {
        /// The key.
        key: Vec<u8>,
        /// What is added.
        delta: i64,
    },
}

/// One change, borrowed. Operations of a batch apply in order: a later one sees an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationRef<'a> {
    /// The key holds the value afterwards.
    Put(&'a [u8], &'a [u8]),
    /// The key is absent afterwards; nothing happens where it is absent before.
    Delete(&'a [u8]),
    /// Every key of the range is absent afterwards.
    DeleteRange(&'a KeyRange),
    /// The key holds the sum afterwards. A counter is 8 bytes, `i64` little endian; an absent key
    /// counts as 0. A sum beyond `i64`, or a value of another length, refuses the whole batch
    /// with [`ErrorKind::Overflow`].
    Add(&'a [u8], i64),
}

/// Preconditions and operations, applied all or nothing by [`crate::Driver::commit`].
#[derive(Clone, Debug, Default)]
pub struct Batch {
    preconditions: Vec<Precondition>,
    operations: Vec<Operation>,
    bytes: usize,
    is_read_in_order: bool,
    met_at: Option<Version>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires that `key` holds `value`, or is absent for `None`, when the batch is applied.
    pub fn require(&mut self, key: impl Into<Vec<u8>>, value: Option<Vec<u8>>) {
        self.preconditions.push(Precondition {
            key: key.into(),
            value,
        });
        self.met_at = None;
    }

    /// Sets `key` to `value`.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.push(Operation::Put {
            key: key.into(),
            value: value.into(),
        });
    }

    /// Removes `key`.
    pub fn delete(&mut self, key: impl Into<Vec<u8>>) {
        self.push(Operation::Delete { key: key.into() });
    }

    /// Removes every key of `range`.
    pub fn delete_range(&mut self, range: KeyRange) {
        self.push(Operation::DeleteRange(range));
    }

    /// Adds `delta` to the counter at `key`.
    pub fn add(&mut self, key: impl Into<Vec<u8>>, delta: i64) {
        self.push(Operation::Add {
            key: key.into(),
            delta,
        });
    }

    /// Says that what it puts will mostly be read in the order of the keys, or a few keys at a time. An
    /// engine may then keep rows that follow each other as one.
    pub fn read_in_order(&mut self) {
        self.is_read_in_order = true;
    }

    /// Whether that was said.
    pub fn is_read_in_order(&self) -> bool {
        self.is_read_in_order
    }

    /// Says that all its preconditions are met in the state of this version, of which they were read. An
    /// engine whose newest state that is need not test them.
    pub fn met_at(&mut self, version: Version) {
        self.met_at = Some(version);
    }

    /// Whether the state of this version is known to meet all preconditions.
    pub fn is_met_at(&self, version: Version) -> bool {
        self.met_at == Some(version)
    }

    /// Makes room for so many further operations.
    pub fn reserve(&mut self, operations: usize) {
        self.operations.reserve(operations);
    }

    /// Appends the preconditions and operations of another batch.
    pub fn append(&mut self, other: Self) {
        self.preconditions.extend(other.preconditions);
        self.operations.extend(other.operations);
        self.bytes += other.bytes;
        self.is_read_in_order &= other.is_read_in_order;
        self.met_at = self.met_at.filter(|_| self.met_at == other.met_at);
    }

    /// Appends one operation.
    pub fn push(&mut self, operation: Operation) {
        self.bytes += operation.as_ref().bytes();
        self.operations.push(operation);
    }

    /// The preconditions, in the order they were required.
    pub fn preconditions(&self) -> &[Precondition] {
        &self.preconditions
    }

    /// The operations, in order.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = OperationRef<'_>> {
        self.operations.iter().map(Operation::as_ref)
    }

    /// Bytes of keys and values in the operations.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is nothing to apply and nothing to test.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.preconditions.is_empty()
    }

    /// Whether it makes a new version for sure: one that puts or adds does, whatever was there.
    pub fn surely_changes(&self) -> bool {
        let is_change = |operation: &Operation| {
            matches!(operation, Operation::Put { .. } | Operation::Add { .. })
        };
        self.operations.iter().any(is_change)
    }

    /// Checks every key and value against the named limits. Every driver calls this first.
    pub fn check_limits(&self) -> Result<()> {
        if self.bytes > BATCH_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::BatchTooLarge,
                format!(
                    "a batch of {} bytes is over the limit of {BATCH_BYTES_MAX}",
                    self.bytes
                ),
            ));
        }
        self.preconditions
            .iter()
            .try_for_each(Precondition::check_limits)?;
        self.operations().try_for_each(OperationRef::check_limits)
    }
}

impl Precondition {
    /// Checks the key against the named limits. A value beyond its limit can never be held, so it
    /// only breaks the precondition.
    pub fn check_limits(&self) -> Result<()> {
        check_key(&self.key)
    }
}

impl Operation {
    /// The same operation, borrowed.
    pub fn as_ref(&self) -> OperationRef<'_> {
        match self {
            Self::Put { key, value } => OperationRef::Put(key, value),
            Self::Delete { key } => OperationRef::Delete(key),
            Self::DeleteRange(range) => OperationRef::DeleteRange(range),
            Self::Add { key, delta } => OperationRef::Add(key, *delta),
        }
    }
}

impl OperationRef<'_> {
    /// Bytes of key and value.
    pub fn bytes(self) -> usize {
        match self {
            Self::Put(key, value) => key.len() + value.len(),
            Self::Delete(key) => key.len(),
            Self::DeleteRange(range) => range.start.len() + range.end.as_ref().map_or(0, Vec::len),
            Self::Add(key, _) => key.len() + size_of::<i64>(),
        }
    }

    /// Checks the key and the value against the named limits.
    pub fn check_limits(self) -> Result<()> {
        match self {
            Self::Put(key, value) => check_key(key).and_then(|()| check_value(key, value)),
            Self::Delete(key) | Self::Add(key, _) => check_key(key),
            Self::DeleteRange(_) => Ok(()),
        }
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if !is_key(key) {
        let message = format!(
            "a key has {} bytes; it may have 1 to {KEY_BYTES_MAX}",
            key.len()
        );
        return Err(Error::new(ErrorKind::KeyTooLong, message).with_key(&key[..key.len().min(64)]));
    }
    Ok(())
}

fn check_value(key: &[u8], value: &[u8]) -> Result<()> {
    if value.len() > VALUE_BYTES_MAX {
        let message = format!(
            "a value has {} bytes; the limit is {VALUE_BYTES_MAX}",
            value.len()
        );
        return Err(Error::new(ErrorKind::ValueTooLong, message).with_key(key));
    }
    Ok(())
}
