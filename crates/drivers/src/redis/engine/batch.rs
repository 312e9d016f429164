//! Encodes a batch for the commit script, and decodes the changes in the log.

use std::collections::HashMap;

use espalier_keyspace::{Batch, Change, Error, ErrorKind, KeyRange, OperationRef, Result, counter};

use super::msgpack::{ListEncoder, PackedStrings, Strings};
use super::open::DIRECT_BYTES_MAX;
use crate::recent_commits::RECORD_BYTES_MAX;

/// The approximate size of a block. A longer string has a block of its own.
const BLOCK_BYTES: usize = 256 << 10;

/// Bytes that are counted for a change in addition to its key and value, for the limit of a log record.
const CHANGE_OVERHEAD: usize = 64;

// Runs take a sixth of the server's time for a large commit: docs/decisions/0034.
/// The most rows of a run, and the approximate limit of its bytes. A longer row is in no run.
pub(crate) const RUN_ROWS_MAX: usize = 32;
const RUN_BYTES: usize = 4096;

/// The fewest puts of a batch that creates runs.
const RUN_PUTS_MIN: usize = 64;

/// The most operations that the script processes together.
const GROUP_OPERATIONS_MAX: usize = 128;

/// Field names in the log: for the list of puts of a commit of [`BatchKind::Puts`] or of one run of
/// [`BatchKind::Runs`]; and for the list of all runs, which format 4 wrote.
const PUTS: &[u8] = b"p";
const LISTS: &[u8] = b"l";

/// The kind of the operations of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchKind {
    /// Puts of different keys, in key order. They are in one block if they are logged.
    Puts,
    /// Such puts as runs, each of three blocks: the last key, the number of rows with the first key, the rows.
    Runs,
    /// Any other operations.
    Any,
}

impl BatchKind {
    /// The argument of the script.
    pub(crate) fn name(self) -> &'static [u8] {
        match self {
            Self::Puts => b"puts",
            Self::Runs => b"runs",
            Self::Any => b"any",
        }
    }
}

/// A key and a value.
type Row<'a> = (&'a [u8], &'a [u8]);

/// The puts of a batch in key order, if it has nothing but puts of different keys.
fn puts(batch: &Batch) -> Option<Vec<Row<'_>>> {
    let mut rows = Vec::with_capacity(batch.operations().len());
    for operation in batch.operations() {
        match operation {
            OperationRef::Put(key, value) => rows.push((key, value)),
            _ => return None,
        }
    }
    // A stable sort is faster if the rows are already partly sorted.
    rows.sort_by_key(|(key, _)| *key);
    let differ = rows.windows(2).all(|pair| pair[0].0 != pair[1].0);
    (differ && !rows.is_empty()).then_some(rows)
}

/// A batch encoded for the commit script.
pub(crate) struct EncodedBatch {
    /// The kind of the blocks after the checks.
    pub(crate) kind: BatchKind,
    /// Whether the changes are logged. Otherwise watchers get a gap.
    pub(crate) is_logged: bool,
    /// The number of blocks with checks, which can reject the batch.
    pub(crate) checks: usize,
    /// All blocks, the checks first.
    pub(crate) blocks: Vec<Vec<u8>>,
}

impl EncodedBatch {
    /// Encodes a batch. Additions to values that the batch itself sets are evaluated here.
    pub(crate) fn of(batch: &Batch) -> Self {
        let mut checks = ListEncoder::new(BLOCK_BYTES);
        for condition in batch.preconditions() {
            match &condition.value {
                Some(value) => checks.item(&[b"c", &condition.key, value]),
                None => checks.item(&[b"n", &condition.key]),
            }
        }
        let overhead = CHANGE_OVERHEAD * batch.operations().len();
        let is_logged = batch.bytes() + overhead <= RECORD_BYTES_MAX;
        let list_bytes = if is_logged { usize::MAX } else { BLOCK_BYTES };
        let rows = puts(batch);
        let (mut kind, mut changes) = match &rows {
            None => (BatchKind::Any, pack_operations(batch, &mut checks)),
            Some(rows) if makes_runs(batch) => (BatchKind::Runs, pack_runs(rows)),
            Some(rows) => (BatchKind::Puts, pack_list(rows, list_bytes)),
        };
        let mut blocks = checks.finish();
        let checks = blocks.len();
        if let (BatchKind::Runs, Some(rows)) = (kind, &rows)
            && bytes(&blocks) + bytes(&changes) > DIRECT_BYTES_MAX
        {
            // A staged batch has no runs.
            (kind, changes) = (BatchKind::Puts, pack_list(rows, list_bytes));
        }
        blocks.extend(changes);
        Self {
            kind,
            is_logged,
            checks,
            blocks,
        }
    }

    /// The size of all blocks.
    pub(crate) fn bytes(&self) -> usize {
        bytes(&self.blocks)
    }
}

/// Returns whether the puts of a batch may be stored as runs.
fn makes_runs(batch: &Batch) -> bool {
    batch.has_sequential_reads_hint() && batch.operations().len() >= RUN_PUTS_MIN
}

fn bytes(blocks: &[Vec<u8>]) -> usize {
    blocks.iter().map(Vec::len).sum()
}

/// Packs rows into lists of alternating keys and values.
fn pack_list(rows: &[Row<'_>], block_bytes: usize) -> Vec<Vec<u8>> {
    let mut changes = ListEncoder::new(block_bytes);
    for (key, value) in rows {
        changes.item(&[key, value]);
    }
    changes.finish()
}

/// Packs rows into runs, of three blocks each.
fn pack_runs(rows: &[Row<'_>]) -> Vec<Vec<u8>> {
    let mut blocks = Vec::with_capacity(3 * (rows.len() / RUN_ROWS_MAX + 1));
    let mut rest = rows;
    while let Some((first, _)) = rest.first() {
        let mut bytes = 0;
        let some = rest.iter().take(RUN_ROWS_MAX).take_while(|(key, value)| {
            bytes += key.len() + value.len();
            bytes <= RUN_BYTES
        });
        let (run, after) = rest.split_at(some.count().max(1));
        blocks.extend(run.last().map(|(last, _)| last.to_vec()));
        let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
        blocks.push([&count.to_be_bytes()[..], first].concat());
        blocks.extend(pack_list(run, usize::MAX));
        rest = after;
    }
    blocks
}

/// Packs operations, each with its letter, in groups that begin with the least and the greatest of their keys.
/// Operations that can reject the batch are added to the checks, too.
fn pack_operations(batch: &Batch, checks: &mut ListEncoder) -> Vec<Vec<u8>> {
    let sums = Sums::of(batch);
    let mut groups = Groups::new();
    for (at, operation) in batch.operations().enumerate() {
        match operation {
            OperationRef::Put(key, value) => groups.push(Some(key), &[b"p", key, value]),
            OperationRef::Delete(key) => groups.push(Some(key), &[b"d", key]),
            OperationRef::DeleteRange(range) if range.is_empty() => {}
            OperationRef::DeleteRange(range) => {
                let end = range.end.as_deref();
                let bounded: &[u8] = if end.is_some() { b"1" } else { b"0" };
                let strings = [b"r", &range.start[..], end.unwrap_or_default(), bounded];
                groups.push(None, &strings);
            }
            OperationRef::Add(key, delta) => match sums.get(at) {
                Some(Some(sum)) => groups.push(Some(key), &[b"p", key, sum]),
                Some(None) => checks.item(&[b"o", key]),
                None => {
                    checks.item(&[b"a", key, &delta.to_le_bytes()]);
                    groups.push(Some(key), &[b"a", key, &delta.to_le_bytes()]);
                }
            },
        }
    }
    groups.finish()
}

/// Packs operations into groups.
struct Groups<'a> {
    full: ListEncoder,
    group: PackedStrings,
    operations: usize,
    /// The least and the greatest key of the group.
    span: (&'a [u8], &'a [u8]),
}

impl<'a> Groups<'a> {
    fn new() -> Self {
        Self {
            full: ListEncoder::new(BLOCK_BYTES),
            group: PackedStrings::default(),
            operations: 0,
            span: Default::default(),
        }
    }

    /// Appends an operation, with the key that it reads.
    fn push(&mut self, key: Option<&'a [u8]>, strings: &[&[u8]]) {
        if let Some(key) = key {
            self.span = match self.span {
                (b"", _) => (key, key),
                (least, greatest) => (least.min(key), greatest.max(key)),
            };
        }
        self.group.put(strings);
        self.operations += 1;
        if self.operations >= GROUP_OPERATIONS_MAX || self.group.bytes() >= BLOCK_BYTES {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.operations > 0 {
            let mut group = PackedStrings::default();
            group.put(&[b"g", self.span.0, self.span.1]);
            self.full.append(&[&group, &self.group]);
            self.group = PackedStrings::default();
            (self.operations, self.span) = (0, Default::default());
        }
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.close();
        self.full.finish()
    }
}

/// The sums that depend on the batch alone, by the index of the operation. `None` if a sum overflows.
struct Sums(HashMap<usize, Option<[u8; counter::COUNTER_BYTES]>>);

/// The value of a key that earlier operations of the batch have set.
#[derive(Clone)]
enum BatchValue<'a> {
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
        let mut written: HashMap<&[u8], (usize, BatchValue<'_>)> = HashMap::new();
        let mut ranges: Vec<(usize, &KeyRange)> = Vec::new();
        for (at, operation) in batch.operations().enumerate() {
            match operation {
                OperationRef::Put(key, value) => {
                    written.insert(key, (at, BatchValue::Value(value)));
                }
                OperationRef::Delete(key) => {
                    written.insert(key, (at, BatchValue::Absent));
                }
                OperationRef::DeleteRange(range) => ranges.push((at, range)),
                OperationRef::Add(key, delta) => {
                    let Some(held) = latest(written.get(key), &ranges, key) else {
                        continue;
                    };
                    let held = match &held {
                        BatchValue::Value(value) => Some(*value),
                        BatchValue::Sum(sum) => Some(&sum[..]),
                        BatchValue::Absent => None,
                    };
                    let sum = counter::add(key, held, delta).ok();
                    sums.insert(at, sum);
                    if let Some(sum) = sum {
                        written.insert(key, (at, BatchValue::Sum(sum)));
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

/// The value of a key after the last of the operations that changed it; `None` if there is none.
fn latest<'a>(
    written: Option<&(usize, BatchValue<'a>)>,
    ranges: &[(usize, &KeyRange)],
    key: &[u8],
) -> Option<BatchValue<'a>> {
    let since = written.map_or(0, |(at, _)| *at);
    let deleted = ranges.iter().rev().take_while(|(at, _)| *at >= since);
    let deleted = deleted.into_iter().any(|(_, range)| range.contains(key));
    if deleted {
        return Some(BatchValue::Absent);
    }
    written.map(|(_, written)| written.clone())
}

/// Decodes a field of the log by its name, and appends its changes. An empty text has none.
pub(crate) fn decode_changes(name: &[u8], text: &[u8], changes: &mut Vec<Change>) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let corrupt = || {
        let message = "an entry of the log is not a list of changes";
        Error::new(ErrorKind::Corrupt, message)
    };
    let mut strings = Strings::of(text).map_err(|_| corrupt())?;
    if name == LISTS {
        return strings.try_for_each(|list| {
            let list = list.map_err(|_| corrupt())?.unwrap_or_default();
            decode_changes(PUTS, list, changes)
        });
    }
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
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_depend_on_the_batch_alone() {
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

    fn kind_of(batch: &Batch) -> (BatchKind, bool) {
        let blocks = EncodedBatch::of(batch);
        (blocks.kind, blocks.is_logged)
    }

    fn decoded(name: &[u8], text: &[u8]) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        decode_changes(name, text, &mut changes).map(|()| changes)
    }

    fn put(key: &str, value: &str) -> Change {
        Change::Put {
            key: key.into(),
            value: value.into(),
        }
    }

    #[test]
    fn puts_of_different_keys_are_a_kind_of_their_own() {
        let mut batch = Batch::new();
        assert_eq!(kind_of(&batch), (BatchKind::Any, true));
        batch.put("b", "2");
        batch.put("a", "1");
        let blocks = EncodedBatch::of(&batch);
        assert_eq!((blocks.kind, blocks.blocks.len()), (BatchKind::Puts, 1));
        let decoded = decoded(PUTS, &blocks.blocks[0]).expect("changes");
        assert_eq!(decoded, [put("a", "1"), put("b", "2")]);
        let mut twice = batch.clone();
        twice.put("a", "3");
        assert_eq!(kind_of(&twice), (BatchKind::Any, true));
        batch.put("c", vec![0; RECORD_BYTES_MAX]);
        assert_eq!(kind_of(&batch), (BatchKind::Puts, false));
        batch.delete("d");
        assert_eq!(kind_of(&batch), (BatchKind::Any, false));
    }

    #[test]
    fn many_puts_that_are_read_in_order_are_runs() {
        let mut batch = Batch::new();
        for number in 0..100 {
            batch.put(format!("{number:02}"), "short");
        }
        assert_eq!(kind_of(&batch), (BatchKind::Puts, true));
        batch.hint_sequential_reads();
        batch.put("33a", vec![b'x'; 2 * RUN_BYTES]);
        let blocks = EncodedBatch::of(&batch);
        assert_eq!((blocks.kind, blocks.checks), (BatchKind::Runs, 0));
        let names = blocks.blocks.iter().step_by(3);
        let names: Vec<_> = names.map(|name| String::from_utf8_lossy(name)).collect();
        assert_eq!(names, ["31", "33", "33a", "65", "97", "99"]);
        let lists = blocks.blocks.iter().skip(2).step_by(3);
        let (mut one_by_one, mut all) = (Vec::new(), ListEncoder::new(usize::MAX));
        for list in lists {
            decode_changes(PUTS, list, &mut one_by_one).expect("changes");
            all.item(&[list]);
        }
        let decoded = decoded(LISTS, &all.finish()[0]).expect("changes");
        assert_eq!((decoded.len(), &decoded[70]), (101, &put("69", "short")));
        assert_eq!(one_by_one, decoded);
    }

    #[test]
    fn operations_are_in_groups_that_begin_with_their_span() {
        let mut batch = Batch::new();
        batch.delete_range(KeyRange::prefix(b"x"));
        for number in (0..GROUP_OPERATIONS_MAX).rev() {
            batch.put(format!("{number:03}"), "1");
        }
        let blocks = EncodedBatch::of(&batch);
        let strings: Vec<_> = Strings::of(&blocks.blocks[0])
            .expect("a list")
            .map(|string| string.expect("a string").unwrap_or_default())
            .collect();
        assert_eq!(&strings[..3], [&b"g"[..], b"001", b"127"]);
        let last = strings.len() - 6;
        assert_eq!(&strings[last..last + 3], [&b"g"[..], b"000", b"000"]);
    }

    #[test]
    fn encoded_changes_are_decoded() {
        let mut batch = Batch::new();
        batch.delete("\0");
        let blocks = EncodedBatch::of(&batch);
        assert_eq!(blocks.kind, BatchKind::Any);
        let changes = decoded(b"d", b"\x92\xa1d\xa1\0").expect("changes");
        let key = b"\0".to_vec();
        assert_eq!(changes, [Change::Delete { key }]);
        assert_eq!(decoded(b"d", b"").expect("a gap"), []);
        for wrong in [&b"\x91"[..], b"\x91\xa1x", b"\x92\xa1p\xa1k", b"\x01"] {
            assert!(decoded(b"d", wrong).is_err());
        }
    }
}
