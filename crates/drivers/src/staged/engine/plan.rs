//! What a batch comes to on a state: single writes of cells, what they depend on, what is told.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use espalier_keyspace::{Batch, Change, KeyRange, OperationRef, Result, counter};

use super::cells::{Bounds, Guard, Write};
use super::layout::{Layout, LongValues};
use crate::range_set::RangeSet;
use crate::staged::config::{CHUNK_BYTES, RECORD_BYTES_MAX};

/// Writes that a transaction needs beside those of the batch: head, gate, lane, record.
const OWN_OPERATIONS: usize = 4;

/// Bytes that they take beside the changes.
const OWN_BYTES: usize = 4 << 10;

/// What a batch needs to know of the state it is applied to.
pub(crate) trait Base {
    /// What a key holds that the batch asks for, and the revision of its cell (0: no cell).
    fn held(&self, key: &[u8]) -> (Option<&[u8]>, u64);

    /// Whether the range holds a key that `is_gone` does not say is gone.
    fn any(&self, range: &KeyRange, is_gone: &dyn Fn(&[u8]) -> bool) -> Result<AnyKey>;
}

/// What a range holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnyKey {
    Some,
    OnlyGone,
    Nothing,
}

/// A batch, worked out.
pub(crate) struct Plan {
    /// What has to hold still for it to be true.
    pub(crate) guards: Vec<Guard>,
    ranges: Vec<KeyRange>,
    deletes: Vec<Write>,
    puts: Vec<Write>,
    /// Data cells that are put, in order.
    put_cells: Vec<Vec<u8>>,
    has_long: bool,
    changes: Vec<Change>,
}

struct Builder<'a, B> {
    layout: &'a Layout,
    base: &'a B,
    own: BTreeMap<&'a [u8], Option<Cow<'a, [u8]>>>,
    gone: RangeSet,
    guards: HashMap<Vec<u8>, Guard>,
    changes: Vec<Change>,
}

impl Plan {
    /// Works a batch out. The preconditions are guarded, not tested.
    pub(crate) fn of<B: Base>(
        batch: &Batch,
        layout: &Layout,
        base: &B,
        long_values: LongValues,
    ) -> Result<Self> {
        let mut builder = Builder {
            layout,
            base,
            own: BTreeMap::new(),
            gone: RangeSet::default(),
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

    /// Whether it changes anything.
    pub(crate) fn has_effect(&self) -> bool {
        !self.changes.is_empty()
    }

    /// What watchers are told; `None` where that is too much.
    pub(crate) fn told(&self) -> Option<&[Change]> {
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

    /// The writes as one transaction, where they fit.
    pub(crate) fn direct(&self, bounds: Bounds) -> Option<Vec<Write>> {
        let most = bounds.operations - OWN_OPERATIONS;
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
        let fits = writes.len() <= most && bytes + RECORD_BYTES_MAX + OWN_BYTES <= bounds.bytes;
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

    /// The writes as lists that are one transaction each, to be made in order.
    pub(crate) fn records(&self, layout: &Layout, bounds: Bounds) -> Vec<Vec<Write>> {
        let mut records = Records {
            operations: bounds.operations - OWN_OPERATIONS,
            bytes: bounds.bytes - OWN_BYTES,
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
        // A transaction must not delete what it puts.
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

impl<'a, B: Base> Builder<'a, B> {
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

    /// What a key holds after the operations so far; guards the state where it tells.
    fn value(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        if let Some(own) = self.own.get(key) {
            return own.as_deref().map(<[u8]>::to_vec);
        }
        if self.gone.around(key).is_some() {
            return None;
        }
        self.guard(key);
        self.base.held(key).0.map(<[u8]>::to_vec)
    }

    fn guard(&mut self, key: &[u8]) {
        let cell = self.layout.data(key);
        let guard = match self.base.held(key).1 {
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
        self.own.insert(key, Some(value));
    }

    fn delete(&mut self, key: &'a [u8]) {
        if self.value(key).is_some() {
            self.changes.push(Change::Delete { key: key.to_vec() });
            self.own.insert(key, None);
        }
    }

    fn delete_range(&mut self, range: &'a KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let within = self.own.range::<[u8], _>(range.bounds());
        let own: Vec<_> = within.map(|(key, value)| (*key, value.is_some())).collect();
        let mut there = own.iter().any(|(_, is_put)| *is_put);
        if !there {
            let is_gone =
                |key: &[u8]| self.own.contains_key(key) || self.gone.around(key).is_some();
            let found = self.base.any(range, &is_gone)?;
            there = found == AnyKey::Some;
            if found == AnyKey::Nothing {
                let cells = self.layout.data_range(range);
                self.guards.insert(cells.start.clone(), Guard::Empty(cells));
            }
        }
        if there {
            own.iter().for_each(|(key, _)| drop(self.own.remove(key)));
            self.gone.insert(range);
            self.changes.push(Change::DeleteRange(range.clone()));
        }
        Ok(())
    }

    fn finish(self, long_values: LongValues) -> Plan {
        let layout = self.layout;
        let mut plan = Plan {
            guards: self.guards.into_values().collect(),
            ranges: Vec::new(),
            deletes: Vec::new(),
            puts: Vec::new(),
            put_cells: Vec::new(),
            has_long: false,
            changes: self.changes,
        };
        for range in self.gone.iter() {
            plan.ranges.push(layout.data_range(&range));
            if long_values == LongValues::Some {
                plan.ranges.push(layout.chunk_range(&range));
            }
        }
        for (key, value) in self.own {
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
