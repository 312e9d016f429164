//! A set of changes that is applied atomically.

use crate::{
    BATCH_BYTES_MAX, Error, ErrorKind, KEY_BYTES_MAX, KeyRange, Result, VALUE_BYTES_MAX, Version,
    Writer, is_key,
};

/// A condition under which a batch is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    /// The tested key.
    pub key: Vec<u8>,
    /// The required value; `None` requires the key to be absent.
    pub value: Option<Vec<u8>>,
}

/// One change, owned. See [`OperationRef`] for the meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets the key to the value.
    Put {
        /// The key.
        key: Vec<u8>,
        /// The new value.
        value: Vec<u8>,
    },
    /// Removes the key.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// Removes every key of the range.
    DeleteRange(KeyRange),
    /// Adds to a counter: see [`OperationRef::Add`].
    Add {
        /// The key.
        key: Vec<u8>,
        /// The number to add.
        delta: i64,
    },
}

/// One change, borrowed. The operations of a batch apply in order: each one sees the effects of those
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationRef<'a> {
    /// Sets the key to the value.
    Put(&'a [u8], &'a [u8]),
    /// Removes the key, if it is present.
    Delete(&'a [u8]),
    /// Removes every key of the range.
    DeleteRange(&'a KeyRange),
    /// Adds to the counter at the key. A counter is 8 bytes, `i64` little endian; an absent key counts as
    /// 0. If the sum overflows `i64`, or the value has another length, the whole batch fails with
    /// [`ErrorKind::Overflow`].
    Add(&'a [u8], i64),
}

/// Preconditions and operations, applied atomically by [`crate::Driver::commit`].
#[derive(Clone, Debug, Default)]
pub struct Batch {
    preconditions: Vec<Precondition>,
    operations: Vec<Operation>,
    bytes: usize,
    has_sequential_reads_hint: bool,
    assume_met_at: Option<Version>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds preconditions.
    pub fn require_all(&mut self, conditions: impl IntoIterator<Item = Precondition>) {
        self.preconditions.extend(conditions);
    }

    /// Requires that `key` has the given value, or is absent for `None`, when the batch is applied.
    pub fn require(&mut self, key: impl Into<Vec<u8>>, value: Option<Vec<u8>>) {
        self.preconditions.push(Precondition {
            key: key.into(),
            value,
        });
        self.assume_met_at = None;
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

    /// Marks the batch's values as read mostly sequentially in key order, or a few keys at a time. An
    /// engine may then store adjacent rows together.
    pub fn hint_sequential_reads(&mut self) {
        self.has_sequential_reads_hint = true;
    }

    /// Returns whether the batch is marked by [`Self::hint_sequential_reads`].
    pub fn has_sequential_reads_hint(&self) -> bool {
        self.has_sequential_reads_hint
    }

    /// Declares that all preconditions hold in the state of this version, because they were read from it.
    /// An engine whose newest version this is need not test them.
    pub fn assume_met_at(&mut self, version: Version) {
        self.assume_met_at = Some(version);
    }

    /// Returns whether the preconditions are declared to hold at this version.
    pub fn is_assumed_met_at(&self, version: Version) -> bool {
        self.assume_met_at == Some(version)
    }

    /// Reserves capacity for this many additional operations.
    pub fn reserve(&mut self, operations: usize) {
        self.operations.reserve(operations);
    }

    /// Appends the preconditions and operations of another batch.
    pub fn append(&mut self, other: Self) {
        self.preconditions.extend(other.preconditions);
        self.operations.extend(other.operations);
        self.bytes += other.bytes;
        self.has_sequential_reads_hint &= other.has_sequential_reads_hint;
        self.assume_met_at = self
            .assume_met_at
            .filter(|_| self.assume_met_at == other.assume_met_at);
    }

    /// The preconditions and the operations, in order.
    pub fn into_parts(self) -> (Vec<Precondition>, Vec<Operation>) {
        (self.preconditions, self.operations)
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

    /// Applies the operations to a write that has already begun. The preconditions are not tested.
    pub fn apply_to(&self, writer: &mut dyn Writer) -> Result<()> {
        self.operations().try_for_each(|operation| match operation {
            OperationRef::Put(key, value) => writer.put(key, value),
            OperationRef::Delete(key) => writer.delete(key),
            OperationRef::DeleteRange(range) => writer.delete_range(range),
            OperationRef::Add(key, delta) => writer.add(key, delta),
        })
    }

    /// Returns whether the batch has neither operations nor preconditions.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.preconditions.is_empty()
    }

    /// Returns whether the batch creates a new version on any state: true if it puts or adds.
    pub fn always_creates_version(&self) -> bool {
        let is_change = |operation: &Operation| {
            matches!(operation, Operation::Put { .. } | Operation::Add { .. })
        };
        self.operations.iter().any(is_change)
    }

    /// Checks every key and value against the size limits. Every driver calls this first.
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
    /// Checks the key against the size limits. A value that is too long can never be stored, so it only
    /// fails the precondition.
    pub fn check_limits(&self) -> Result<()> {
        check_key(&self.key)
    }
}

impl Operation {
    /// Borrows the operation.
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

    /// Checks the key and the value against the size limits.
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
