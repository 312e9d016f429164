//! Plans a batch on a state: the cell writes, the guards, and the changes for watchers.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use espalier_keyspace::{Batch, Change, KeyRange, OperationRef, Result, counter};

use super::cell_store::{Bounds, CellStore, Guard, Write};
use super::commit_basis::CommitBasis;
use super::layout::{Layout, LongValues};
use crate::range_set::RangeSet;
use crate::staged::config::{CHUNK_BYTES, RECORD_BYTES_MAX};

/// Writes of a transaction besides those of the batch: head, gate, session, record.
const COMMIT_OPERATIONS: usize = 4;

/// Bytes of these writes, without the changes.
const COMMIT_BYTES: usize = 4 << 10;

/// The content of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeContent {
    Key,
    OnlyDeleted,
    Empty,
}

/// A planned batch.
pub(crate) struct WritePlan {
    /// The conditions under which the plan is valid.
    pub(crate) guards: Vec<Guard>,
    ranges: Vec<KeyRange>,
    deletes: Vec<Write>,
    puts: Vec<Write>,
    /// The data cells that are put, in order.
    put_cells: Vec<Vec<u8>>,
    has_long: bool,
    changes: Vec<Change>,
}

struct Builder<'a, C> {
    layout: &'a Layout,
    base: &'a CommitBasis<C>,
    written: BTreeMap<&'a [u8], Option<Cow<'a, [u8]>>>,
    deleted: RangeSet,
    guards: HashMap<Vec<u8>, Guard>,
    changes: Vec<Change>,
}

impl WritePlan {
    /// Plans a batch. The preconditions become guards; they are not tested here.
    pub(in crate::staged) fn of<C: CellStore>(
        batch: &Batch,
        layout: &Layout,
        base: &CommitBasis<C>,
        long_values: LongValues,
    ) -> Result<Self> {
        let mut builder = Builder {
            layout,
            base,
            written: BTreeMap::new(),
            deleted: RangeSet::default(),
            guards: HashMap::new(),
            changes: Vec::new(),
        };
        for condition in batch.preconditions() {
            builder.guard(&condition.key);
        }
        batch
            .operations()
            .try_for_each(|operation| builder.apply(operation))?;
        Ok(builder.finish(long_values))
    }

    /// Whether the batch changes anything.
    pub(crate) fn has_effect(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The changes for watchers; `None` if they are too large.
    pub(crate) fn changes(&self) -> Option<&[Change]> {
        let bytes = |change: &Change| match change {
            Change::Put { key, value } => key.len() + value.len() + 16,
            Change::Delete { key } => key.len() + 16,
            Change::DeleteRange(range) => {
                range.start.len() + range.end.as_ref().map_or(0, Vec::len) + 16
            }
        };
        let sum: usize = self.changes.iter().map(bytes).sum();
        (sum <= RECORD_BYTES_MAX).then_some(&self.changes)
    }

    /// The writes as one transaction, if they fit.
    pub(crate) fn direct(&self, bounds: Bounds) -> Option<Vec<Write>> {
        let most = bounds.operations - COMMIT_OPERATIONS;
        let few = self.puts.len() + self.deletes.len() <= most && self.guards.len() <= most;
        if self.has_long || !few || self.ranges.len() > most {
            return None;
        }
        let mut writes = Vec::new();
        for range in &self.ranges {
            self.split(range, &mut writes);
        }
        writes.extend(self.deletes.iter().cloned());
        writes.extend(self.puts.iter().cloned());
        let bytes: usize = writes.iter().map(Write::bytes).sum();
        let fits = writes.len() <= most && bytes + RECORD_BYTES_MAX + COMMIT_BYTES <= bounds.bytes;
        fits.then_some(writes)
    }

    /// The parts of a range between the cells that are put.
    fn split(&self, range: &KeyRange, writes: &mut Vec<Write>) {
        let mut rest = range.clone();
        let first = self.put_cells.partition_point(|cell| *cell < range.start);
        for cell in &self.put_cells[first..] {
            if !range.contains(cell) {
                break;
            }
            let part = KeyRange {
                start: std::mem::replace(&mut rest.start, [cell, &[0][..]].concat()),
                end: Some(cell.clone()),
            };
            if !part.is_empty() {
                writes.push(Write::DeleteRange(part));
            }
        }
        if !rest.is_empty() {
            writes.push(Write::DeleteRange(rest));
        }
    }

    /// The writes as a list of transactions, to be applied in order.
    pub(crate) fn records(&self, layout: &Layout, bounds: Bounds) -> Vec<Vec<Write>> {
        let mut records = Records {
            operations: bounds.operations - COMMIT_OPERATIONS,
            bytes: bounds.bytes - COMMIT_BYTES,
            full: Vec::new(),
            open: Vec::new(),
            open_bytes: 0,
        };
        if self.has_long {
            records.push(Write::Put(layout.long_values(), Vec::new()));
        }
        for range in &self.ranges {
            records.push(Write::DeleteRange(range.clone()));
        }
        records.extend(&self.deletes);
        // A transaction must not delete and put the same cell.
        records.close();
        records.extend(&self.puts);
        records.close();
        records.full
    }
}

struct Records {
    operations: usize,
    bytes: usize,
    full: Vec<Vec<Write>>,
    open: Vec<Write>,
    open_bytes: usize,
}

impl Records {
    fn extend(&mut self, writes: &[Write]) {
        writes.iter().for_each(|write| self.push(write.clone()));
    }

    fn push(&mut self, write: Write) {
        let bytes = write.bytes();
        if self.open.len() == self.operations || self.open_bytes + bytes > self.bytes {
            self.close();
        }
        self.open_bytes += bytes;
        self.open.push(write);
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.full.push(std::mem::take(&mut self.open));
        }
        self.open_bytes = 0;
    }
}

impl<'a, C: CellStore> Builder<'a, C> {
    fn apply(&mut self, operation: OperationRef<'a>) -> Result<()> {
        match operation {
            OperationRef::Put(key, value) => self.put(key, Cow::Borrowed(value)),
            OperationRef::Delete(key) => self.delete(key),
            OperationRef::DeleteRange(range) => self.delete_range(range)?,
            OperationRef::Add(key, delta) => {
                let sum = counter::add(key, self.value(key).as_deref(), delta)?;
                self.put(key, Cow::Owned(sum.to_vec()));
            }
        }
        Ok(())
    }

    /// The value of a key after the operations so far; guards the key if the value comes from the state.
    fn value(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        if let Some(written) = self.written.get(key) {
            return written.as_deref().map(<[u8]>::to_vec);
        }
        if self.deleted.around(key).is_some() {
            return None;
        }
        self.guard(key);
        self.base.value_and_revision(key).0.map(<[u8]>::to_vec)
    }

    fn guard(&mut self, key: &[u8]) {
        let cell = self.layout.data(key);
        let guard = match self.base.value_and_revision(key).1 {
            0 => Guard::Absent(cell),
            modified => Guard::Modified(cell, modified),
        };
        self.guards.insert(key.to_vec(), guard);
    }

    fn put(&mut self, key: &'a [u8], value: Cow<'a, [u8]>) {
        self.changes.push(Change::Put {
            key: key.to_vec(),
            value: value.to_vec(),
        });
        self.written.insert(key, Some(value));
    }

    fn delete(&mut self, key: &'a [u8]) {
        if self.value(key).is_some() {
            self.changes.push(Change::Delete { key: key.to_vec() });
            self.written.insert(key, None);
        }
    }

    fn delete_range(&mut self, range: &'a KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let within = self.written.range::<[u8], _>(range.bounds());
        let written: Vec<_> = within.map(|(key, value)| (*key, value.is_some())).collect();
        let mut has_key = written.iter().any(|(_, is_put)| *is_put);
        if !has_key {
            let is_deleted =
                |key: &[u8]| self.written.contains_key(key) || self.deleted.around(key).is_some();
            let found = self.base.range_content(range, &is_deleted)?;
            has_key = found == RangeContent::Key;
            if found == RangeContent::Empty {
                let cells = self.layout.data_range(range);
                self.guards.insert(cells.start.clone(), Guard::Empty(cells));
            }
        }
        if has_key {
            written
                .iter()
                .for_each(|(key, _)| drop(self.written.remove(key)));
            self.deleted.insert(range);
            self.changes.push(Change::DeleteRange(range.clone()));
        }
        Ok(())
    }

    fn finish(self, long_values: LongValues) -> WritePlan {
        let layout = self.layout;
        let mut plan = WritePlan {
            guards: self.guards.into_values().collect(),
            ranges: Vec::new(),
            deletes: Vec::new(),
            puts: Vec::new(),
            put_cells: Vec::new(),
            has_long: false,
            changes: self.changes,
        };
        for range in self.deleted.iter() {
            plan.ranges.push(layout.data_range(&range));
            if long_values == LongValues::Some {
                plan.ranges.push(layout.chunk_range(&range));
            }
        }
        for (key, value) in self.written {
            let Some(value) = value else {
                plan.deletes.push(Write::Delete(layout.data(key)));
                if long_values == LongValues::Some {
                    let chunks = layout.chunks(key, 0);
                    plan.deletes.push(Write::DeleteRange(chunks));
                }
                continue;
            };
            plan.has_long |= value.len() >= CHUNK_BYTES;
            plan.put_cells.push(layout.data(key));
            plan.puts.extend(layout.put(key, &value, long_values));
        }
        if long_values == LongValues::None {
            plan.guards.push(Guard::Absent(layout.long_values()));
        }
        plan
    }
}
