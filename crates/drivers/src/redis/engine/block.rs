//! Lists of byte strings as the scripts read and write them: MessagePack arrays of strings.

use espalier_keyspace::{Batch, Change, Error, ErrorKind, KeyRange, OperationRef, Result, counter};
use std::collections::HashMap;

/// Bytes in one block, about; a longer string has a block of its own.
const BLOCK_BYTES: usize = 256 << 10;

/// What a batch is to the commit script.
pub(crate) struct Blocks {
    /// Those before the rest that can refuse it.
    pub(crate) checks: usize,
    /// All of them, the checks first.
    pub(crate) blocks: Vec<Vec<u8>>,
}

impl Blocks {
    /// Encodes a batch. Additions to what the batch itself set are worked out here.
    pub(crate) fn of(batch: &Batch) -> Self {
        let mut checks = Encoder::default();
        for condition in batch.preconditions() {
            match &condition.value {
                Some(value) => checks.item(&[b"c", &condition.key, value]),
                None => checks.item(&[b"n", &condition.key]),
            }
        }
        let sums = Sums::of(batch);
        let mut changes = Encoder::default();
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
        let mut blocks = checks.finish();
        let checks = blocks.len();
        blocks.extend(changes.finish());
        Self { checks, blocks }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }
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

#[derive(Default)]
struct Encoder {
    full: Vec<Vec<u8>>,
    block: Vec<u8>,
    strings: u32,
}

impl Encoder {
    /// Appends the strings of one operation, which stay in one block.
    fn item(&mut self, strings: &[&[u8]]) {
        for string in strings {
            let length = u32::try_from(string.len()).unwrap_or(u32::MAX);
            self.block.push(0xdb);
            self.block.extend(length.to_be_bytes());
            self.block.extend(*string);
            self.strings += 1;
        }
        if self.block.len() >= BLOCK_BYTES {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.strings > 0 {
            let mut block = vec![0xdd];
            block.extend(self.strings.to_be_bytes());
            block.append(&mut self.block);
            self.full.push(block);
            self.strings = 0;
        }
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.close();
        self.full
    }
}

/// The changes that an entry of the log tells; `None` for one that is told as a gap.
pub(crate) fn changes_of(data: &[u8]) -> Result<Option<Vec<Change>>> {
    if data.is_empty() {
        return Ok(None);
    }
    let corrupt = || {
        Error::new(
            ErrorKind::Corrupt,
            "an entry of the log is no list of changes",
        )
    };
    let mut strings = decode(data).ok_or_else(corrupt)?.into_iter();
    let mut changes = Vec::new();
    while let Some(kind) = strings.next() {
        let mut next = || strings.next().ok_or_else(corrupt);
        let key = next()?;
        changes.push(match kind.as_slice() {
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

/// The strings of a MessagePack array.
fn decode(data: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = data;
    let count = match take(&mut rest, 1)?[0] {
        small @ 0x90..=0x9f => usize::from(small & 0x0f),
        0xdc => length(&mut rest, 2)?,
        0xdd => length(&mut rest, 4)?,
        _ => return None,
    };
    let mut strings = Vec::new();
    for _ in 0..count {
        let bytes = match take(&mut rest, 1)?[0] {
            small @ 0xa0..=0xbf => usize::from(small & 0x1f),
            0xd9 => length(&mut rest, 1)?,
            0xda => length(&mut rest, 2)?,
            0xdb => length(&mut rest, 4)?,
            _ => return None,
        };
        strings.push(take(&mut rest, bytes)?.to_vec());
    }
    rest.is_empty().then_some(strings)
}

fn length(rest: &mut &[u8], bytes: usize) -> Option<usize> {
    let digits = take(rest, bytes)?.iter();
    Some(digits.fold(0, |sum, &digit| sum << 8 | usize::from(digit)))
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(bytes)?;
    *rest = left;
    Some(taken)
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
    fn what_is_encoded_is_decoded() {
        let mut encoder = Encoder::default();
        let long = vec![7; BLOCK_BYTES];
        encoder.item(&[b"p", b"key", b""]);
        encoder.item(&[b"p", b"key", &long]);
        encoder.item(&[b"d", b"\0"]);
        let blocks = encoder.finish();
        assert_eq!(blocks.len(), 2);
        assert_eq!(decode(&blocks[0]).expect("a block")[5], long);
        let changes = changes_of(&blocks[1]).expect("changes");
        let key = b"\0".to_vec();
        assert_eq!(changes, Some(vec![Change::Delete { key }]));
        assert_eq!(changes_of(b"").expect("a gap"), None);
        for wrong in [
            &b"\x91"[..],
            b"\x91\xa1",
            b"\x91\xa1xy",
            b"\x92\xa1p\xa1k",
            b"\x01",
        ] {
            assert!(changes_of(wrong).is_err());
        }
    }
}
