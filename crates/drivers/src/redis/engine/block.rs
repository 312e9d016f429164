//! A batch as the commit script takes it, and as the log tells it.

use std::collections::{HashMap, HashSet};

use espalier_keyspace::{Batch, Change, Error, ErrorKind, KeyRange, OperationRef, Result, counter};

use super::pack::{Encoder, Strings};
use crate::recent::RECORD_BYTES_MAX;

/// Bytes in one block, about; a longer string has a block of its own.
const BLOCK_BYTES: usize = 256 << 10;

/// Bytes that a change counts for beside its key and value, when it is decided whether the log
/// tells it.
const CHANGE_OVERHEAD: usize = 64;

/// The name of what the log tells of a commit of [`Kind::Puts`].
const PUTS: &[u8] = b"p";

/// What the operations of a batch are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Puts of different keys, in one block, which the log tells as it stands.
    Puts,
    /// The same, of which the log tells nothing, as they are too much.
    UntoldPuts,
    /// Anything else.
    Any,
}

impl Kind {
    fn of(batch: &Batch) -> Self {
        let count = batch.operations().len();
        let mut keys = HashSet::with_capacity(count);
        for operation in batch.operations() {
            let OperationRef::Put(key, _) = operation else {
                return Self::Any;
            };
            if !keys.insert(key) {
                return Self::Any;
            }
        }
        if count == 0 {
            return Self::Any;
        }
        match batch.bytes() + CHANGE_OVERHEAD * count <= RECORD_BYTES_MAX {
            true => Self::Puts,
            false => Self::UntoldPuts,
        }
    }

    /// As the script has it.
    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Puts => b"puts",
            Self::UntoldPuts => b"untold",
            Self::Any => b"any",
        }
    }
}

/// What a batch is to the commit script.
pub(crate) struct Blocks {
    /// What those after the checks are.
    pub(crate) kind: Kind,
    /// Those before the rest that can refuse it.
    pub(crate) checks: usize,
    /// All of them, the checks first.
    pub(crate) blocks: Vec<Vec<u8>>,
}

impl Blocks {
    /// Encodes a batch. Additions to what the batch itself set are worked out here.
    pub(crate) fn of(batch: &Batch) -> Self {
        let mut checks = Encoder::new(BLOCK_BYTES);
        for condition in batch.preconditions() {
            match &condition.value {
                Some(value) => checks.item(&[b"c", &condition.key, value]),
                None => checks.item(&[b"n", &condition.key]),
            }
        }
        let kind = Kind::of(batch);
        let changes = match kind {
            Kind::Any => operations(batch, &mut checks),
            Kind::Puts => puts(batch, usize::MAX),
            Kind::UntoldPuts => puts(batch, BLOCK_BYTES),
        };
        let mut blocks = checks.finish();
        let checks = blocks.len();
        blocks.extend(changes.finish());
        Self {
            kind,
            checks,
            blocks,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }
}

/// Keys and values, one after the other.
fn puts(batch: &Batch, block_bytes: usize) -> Encoder {
    let mut changes = Encoder::new(block_bytes);
    for operation in batch.operations() {
        if let OperationRef::Put(key, value) = operation {
            changes.item(&[key, value]);
        }
    }
    changes
}

/// Each operation by its letter. What of them can refuse the batch is checked, too.
fn operations(batch: &Batch, checks: &mut Encoder) -> Encoder {
    let sums = Sums::of(batch);
    let mut changes = Encoder::new(BLOCK_BYTES);
    for (at, operation) in batch.operations().enumerate() {
        match operation {
            OperationRef::Put(key, value) => changes.item(&[b"p", key, value]),
            OperationRef::Delete(key) => changes.item(&[b"d", key]),
            OperationRef::DeleteRange(range) if range.is_empty() => {}
            OperationRef::DeleteRange(range) => {
                let end = range.end.as_deref();
                let bounded: &[u8] = if end.is_some() { b"1" } else { b"0" };
                changes.item(&[b"r", &range.start, end.unwrap_or_default(), bounded]);
            }
            OperationRef::Add(key, delta) => match sums.get(at) {
                Some(Some(sum)) => changes.item(&[b"p", key, sum]),
                Some(None) => checks.item(&[b"o", key]),
                None => {
                    checks.item(&[b"a", key, &delta.to_le_bytes()]);
                    changes.item(&[b"a", key, &delta.to_le_bytes()]);
                }
            },
        }
    }
    changes
}

/// The sums that follow from the batch alone, by the number of the operation; `None` where it
/// overflows.
struct Sums(HashMap<usize, Option<[u8; counter::COUNTER_BYTES]>>);

/// What a batch set a key to.
#[derive(Clone)]
enum Known<'a> {
    Value(&'a [u8]),
    Sum([u8; counter::COUNTER_BYTES]),
    Absent,
}

impl Sums {
    fn of(batch: &Batch) -> Self {
        let mut sums = HashMap::new();
        let adds = |operation: OperationRef<'_>| matches!(operation, OperationRef::Add(..));
        if !batch.operations().any(adds) {
            return Self(sums);
        }
        let mut known: HashMap<&[u8], (usize, Known<'_>)> = HashMap::new();
        let mut ranges: Vec<(usize, &KeyRange)> = Vec::new();
        for (at, operation) in batch.operations().enumerate() {
            match operation {
                OperationRef::Put(key, value) => drop(known.insert(key, (at, Known::Value(value)))),
                OperationRef::Delete(key) => drop(known.insert(key, (at, Known::Absent))),
                OperationRef::DeleteRange(range) => ranges.push((at, range)),
                OperationRef::Add(key, delta) => {
                    let Some(held) = latest(known.get(key), &ranges, key) else {
                        continue;
                    };
                    let held = match &held {
                        Known::Value(value) => Some(*value),
                        Known::Sum(sum) => Some(&sum[..]),
                        Known::Absent => None,
                    };
                    let sum = counter::add(key, held, delta).ok();
                    sums.insert(at, sum);
                    if let Some(sum) = sum {
                        known.insert(key, (at, Known::Sum(sum)));
                    }
                }
            }
        }
        Self(sums)
    }

    fn get(&self, at: usize) -> Option<Option<&[u8]>> {
        self.0.get(&at).map(|sum| sum.as_ref().map(|sum| &sum[..]))
    }
}

/// What the newest of the operations that touched a key made of it.
fn latest<'a>(
    known: Option<&(usize, Known<'a>)>,
    ranges: &[(usize, &KeyRange)],
    key: &[u8],
) -> Option<Known<'a>> {
    let since = known.map_or(0, |(at, _)| *at);
    let deleted = ranges.iter().rev().take_while(|(at, _)| *at >= since);
    let deleted = deleted.into_iter().any(|(_, range)| range.contains(key));
    if deleted {
        return Some(Known::Absent);
    }
    known.map(|(_, known)| known.clone())
}

/// The changes that an entry of the log tells, by the name of what it tells; `None` for one that is
/// told as a gap.
pub(crate) fn changes_of(name: &[u8], data: &[u8]) -> Result<Option<Vec<Change>>> {
    if data.is_empty() {
        return Ok(None);
    }
    let corrupt = || {
        let message = "an entry of the log is no list of changes";
        Error::new(ErrorKind::Corrupt, message)
    };
    let mut strings = Strings::of(data).map_err(|_| corrupt())?;
    let mut changes = Vec::new();
    while let Some(first) = strings.next() {
        let owned = |string: Result<Option<&[u8]>>| match string {
            Ok(Some(string)) => Ok(string.to_vec()),
            _ => Err(corrupt()),
        };
        let first = owned(first)?;
        let mut next = || strings.next().map_or_else(|| Err(corrupt()), owned);
        if name == PUTS {
            let value = next()?;
            changes.push(Change::Put { key: first, value });
            continue;
        }
        let key = next()?;
        changes.push(match first.as_slice() {
            b"p" => Change::Put {
                key,
                value: next()?,
            },
            b"d" => Change::Delete { key },
            b"r" => {
                let (end, bounded) = (next()?, next()?);
                let end = (bounded == b"1").then_some(end);
                Change::DeleteRange(KeyRange { start: key, end })
            }
            _ => return Err(corrupt()),
        });
    }
    Ok(Some(changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_follow_from_the_batch() {
        let mut batch = Batch::new();
        batch.add("stored", 1);
        batch.put("put", counter::encode(40));
        batch.add("put", 2);
        batch.delete_range(KeyRange::prefix(b"s"));
        batch.add("stored", 7);
        batch.add("stored", i64::MAX);
        batch.put("stored", "text");
        batch.add("other", 5);
        let sums = Sums::of(&batch);
        assert_eq!((sums.get(0), sums.get(7)), (None, None));
        assert_eq!(sums.get(2), Some(Some(&counter::encode(42)[..])));
        assert_eq!(sums.get(4), Some(Some(&counter::encode(7)[..])));
        assert_eq!(sums.get(5), Some(None));
    }

    #[test]
    fn puts_of_different_keys_are_a_kind_of_their_own() {
        let mut batch = Batch::new();
        assert_eq!(Kind::of(&batch), Kind::Any);
        batch.put("a", "1");
        batch.put("b", "2");
        let blocks = Blocks::of(&batch);
        assert_eq!((blocks.kind, blocks.blocks.len()), (Kind::Puts, 1));
        let put = |key: &str, value: &str| Change::Put {
            key: key.into(),
            value: value.into(),
        };
        let told = changes_of(PUTS, &blocks.blocks[0]).expect("changes");
        assert_eq!(told, Some(vec![put("a", "1"), put("b", "2")]));
        let mut twice = batch.clone();
        twice.put("a", "3");
        assert_eq!(Kind::of(&twice), Kind::Any);
        batch.put("c", vec![0; RECORD_BYTES_MAX]);
        assert_eq!(Kind::of(&batch), Kind::UntoldPuts);
        batch.delete("d");
        assert_eq!(Kind::of(&batch), Kind::Any);
    }

    #[test]
    fn what_is_encoded_is_told() {
        let mut batch = Batch::new();
        batch.delete("\0");
        let blocks = Blocks::of(&batch);
        assert_eq!(blocks.kind, Kind::Any);
        let changes = changes_of(b"d", &blocks.blocks[0]).expect("changes");
        let key = b"\0".to_vec();
        assert_eq!(changes, Some(vec![Change::Delete { key }]));
        assert_eq!(changes_of(b"d", b"").expect("a gap"), None);
        for wrong in [&b"\x91"[..], b"\x91\xa1x", b"\x92\xa1p\xa1k", b"\x01"] {
            assert!(changes_of(b"d", wrong).is_err());
        }
    }
}
