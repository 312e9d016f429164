//! The rows of a transaction: read on demand, written at the commit.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

use espalier_keyspace::{Batch, Direction, KeyRange, Operation, Snapshot};

use crate::Result;
use crate::layout::Layout;
use crate::row_reader::{Reader, Visit};

/// The rows that a transaction reads and changes.
pub(crate) struct Rows<'a> {
    layout: &'a Layout,
    engine: &'a dyn Snapshot,
    ram: &'a dyn Snapshot,
    changes: Changes,
}

/// The reads and changes of one transaction, or of a group of transactions that are committed together, each
/// of which sees the changes of the earlier ones.
#[derive(Default)]
pub(crate) struct Changes {
    rows: BTreeMap<Vec<u8>, RowState>,
    counters: BTreeMap<Vec<u8>, i64>,
    dropped: Vec<KeyRange>,
    /// How to undo the newest transaction; `None` during the first one, which is undone by discarding
    /// everything.
    journal: Option<Vec<Undo>>,
}

/// One undo step.
enum Undo {
    /// The previous change of a row; `None` if it was not in the map.
    Row(Vec<u8>, Option<RowChange>),
    /// The amount that was added to a counter.
    Counter(Vec<u8>, i64),
}

struct RowState {
    /// The value that was read; `None` if the row was not read.
    before: Option<Option<Vec<u8>>>,
    change: RowChange,
}

enum RowChange {
    Unchanged,
    Put(Vec<u8>),
    Deleted,
}

/// The changes for the engine and for the rows in memory.
pub(crate) struct CommitParts {
    pub(crate) engine: Batch,
    pub(crate) ram: Vec<Operation>,
}

impl<'a> Rows<'a> {
    /// The rows of two snapshots, with these changes.
    pub(crate) fn new(
        layout: &'a Layout,
        engine: &'a dyn Snapshot,
        ram: &'a dyn Snapshot,
        changes: Changes,
    ) -> Self {
        Self {
            layout,
            engine,
            ram,
            changes,
        }
    }

    /// The reads and changes.
    pub(crate) fn into_changes(self) -> Changes {
        self.changes
    }

    fn snapshot(&self, key: &[u8]) -> &'a dyn Snapshot {
        snapshot(self.layout, self.engine, self.ram, key)
    }

    /// The value of a row. It becomes a precondition: at the commit the row must have the same value.
    pub(crate) fn read(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let rows = &self.changes.rows;
        if rows.get(key).is_some_and(|row| row.before.is_some()) {
            return Ok(self.changes.rows.get(key).and_then(RowState::current));
        }
        let snapshot = snapshot(self.layout, self.engine, self.ram, key);
        let before = snapshot.get(key)?.map(Cow::into_owned);
        Ok(self.changes.record_read(key, before).current())
    }

    /// Reads rows of one storage in advance, many at once.
    pub(crate) fn load(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        let rows = &self.changes.rows;
        let is_unread = |key: &&[u8]| rows.get(*key).is_none_or(|row| row.before.is_none());
        let keys = keys.iter().map(Vec::as_slice).filter(is_unread);
        let keys: Vec<&[u8]> = keys.collect();
        let Some(first) = keys.first() else {
            return Ok(());
        };
        let values = self.snapshot(first).get_many(&keys)?;
        for (key, value) in keys.into_iter().zip(values) {
            self.changes.record_read(key, value.map(Cow::into_owned));
        }
        Ok(())
    }

    /// The value of a row before the transaction, without a precondition.
    pub(crate) fn peek(&self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        Ok(self.snapshot(key).get(key)?)
    }

    /// Sets the value of a row.
    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes.set(key, RowChange::Put(value));
    }

    /// Removes a row.
    pub(crate) fn delete(&mut self, key: Vec<u8>) {
        self.changes.set(key, RowChange::Deleted);
    }

    /// Adds to a counter.
    pub(crate) fn add(&mut self, key: Vec<u8>, delta: i64) {
        self.changes.add(key, delta);
    }

    /// The amount that the transaction adds to a counter.
    pub(crate) fn added(&self, key: &[u8]) -> i64 {
        self.changes.counters.get(key).copied().unwrap_or(0)
    }

    /// Deletes every row of a range that this transaction does not access otherwise. Only for a transaction
    /// with a commit of its own.
    pub(crate) fn drop_range(&mut self, range: KeyRange) {
        self.changes.dropped.push(range);
    }
}

fn snapshot<'a>(
    layout: &Layout,
    engine: &'a dyn Snapshot,
    ram: &'a dyn Snapshot,
    key: &[u8],
) -> &'a dyn Snapshot {
    if layout.is_ram(key) { ram } else { engine }
}

impl Changes {
    /// Starts a transaction that can be undone without the earlier ones.
    pub(crate) fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// Undoes the changes of the newest transaction. Its reads stay preconditions.
    pub(crate) fn undo(&mut self) {
        for undo in self.journal.take().into_iter().flatten().rev() {
            match undo {
                Undo::Counter(key, delta) => *self.counters.entry(key).or_default() -= delta,
                Undo::Row(key, Some(change)) => {
                    if let Some(row) = self.rows.get_mut(&key) {
                        row.change = change;
                    }
                }
                Undo::Row(key, None) => {
                    if let Entry::Occupied(mut row) = self.rows.entry(key) {
                        match row.get().before {
                            Some(_) => row.get_mut().change = RowChange::Unchanged,
                            None => drop(row.remove()),
                        }
                    }
                }
            }
        }
    }

    /// Records the value of a row before the transaction.
    fn record_read(&mut self, key: &[u8], before: Option<Vec<u8>>) -> &RowState {
        let row = self.rows.entry(key.to_vec()).or_insert(RowState {
            before: None,
            change: RowChange::Unchanged,
        });
        row.before = Some(before);
        row
    }

    fn set(&mut self, key: Vec<u8>, change: RowChange) {
        match self.rows.entry(key) {
            Entry::Occupied(mut row) => {
                let before = std::mem::replace(&mut row.get_mut().change, change);
                if let Some(journal) = &mut self.journal {
                    journal.push(Undo::Row(row.key().clone(), Some(before)));
                }
            }
            Entry::Vacant(vacant) => {
                if let Some(journal) = &mut self.journal {
                    journal.push(Undo::Row(vacant.key().clone(), None));
                }
                vacant.insert(RowState {
                    before: None,
                    change,
                });
            }
        }
    }

    fn add(&mut self, key: Vec<u8>, delta: i64) {
        if let Some(journal) = &mut self.journal {
            journal.push(Undo::Counter(key.clone(), delta));
        }
        *self.counters.entry(key).or_default() += delta;
    }

    /// The number of rows that were read or changed.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The commit: the reads as preconditions, and the changes.
    pub(crate) fn into_parts(self, layout: &Layout) -> CommitParts {
        // Reserves space for everything: a large vector that grows is moved to new memory repeatedly.
        let most = self.dropped.len() + self.rows.len() + self.counters.len();
        let mut parts = CommitParts {
            engine: Batch::new(),
            ram: Vec::with_capacity(most),
        };
        parts.engine.reserve(most);
        for range in self.dropped {
            let is_ram = layout.is_ram(&range.start);
            parts.push(is_ram, Operation::DeleteRange(range));
        }
        for (key, row) in self.rows {
            let is_ram = layout.is_ram(&key);
            if let (Some(before), false) = (row.before, is_ram) {
                parts.engine.require(key.clone(), before);
            }
            match row.change {
                RowChange::Put(value) => parts.push(is_ram, Operation::Put { key, value }),
                RowChange::Deleted => parts.push(is_ram, Operation::Delete { key }),
                RowChange::Unchanged => {}
            }
        }
        for (key, delta) in self.counters {
            if delta != 0 {
                parts.push(layout.is_ram(&key), Operation::Add { key, delta });
            }
        }
        parts
    }
}

impl CommitParts {
    fn push(&mut self, is_ram: bool, operation: Operation) {
        if is_ram {
            self.ram.push(operation);
        } else {
            self.engine.push(operation);
        }
    }
}

impl RowState {
    fn current(&self) -> Option<&[u8]> {
        match &self.change {
            RowChange::Unchanged => self.before.as_ref()?.as_deref(),
            RowChange::Put(value) => Some(value),
            RowChange::Deleted => None,
        }
    }
}

impl Reader for Rows<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.read(key)?.map(Cow::Borrowed))
    }

    /// Rows inserted into the range before the commit are not detected; a caller that scans also requires the
    /// collection's commit counter.
    fn scan(&mut self, range: &KeyRange, direction: Direction, visit: Visit<'_>) -> Result<()> {
        let mut merge = Merge {
            changed: self.changed(range, direction),
            direction,
        };
        let mut cursor = self.snapshot(&range.start).scan(range, direction)?;
        while let Some((key, value)) = cursor.next()? {
            if merge.before(key, visit)?.is_break() {
                return Ok(());
            }
            if !merge.covers(key) && visit(key, value)?.is_break() {
                return Ok(());
            }
        }
        merge.rest(visit)
    }
}

impl Rows<'_> {
    /// The changed rows of a range, in reverse order of the scan.
    fn changed(&self, range: &KeyRange, direction: Direction) -> Vec<(&[u8], Option<&[u8]>)> {
        if range.is_empty() {
            return Vec::new();
        }
        let rows = self.changes.rows.range::<[u8], _>(range.bounds());
        let changed = rows.filter(|(_, row)| !matches!(row.change, RowChange::Unchanged));
        let mut changed: Vec<_> = changed
            .map(|(key, row)| (key.as_slice(), row.current()))
            .collect();
        if direction == Direction::Forward {
            changed.reverse();
        }
        changed
    }
}

/// The changed rows that a scan has not reached yet.
struct Merge<'a> {
    changed: Vec<(&'a [u8], Option<&'a [u8]>)>,
    direction: Direction,
}

impl Merge<'_> {
    /// Visits the changed rows that come before `key`.
    fn before(&mut self, key: &[u8], visit: Visit<'_>) -> Result<ControlFlow<()>> {
        while let Some(&(changed, value)) = self.changed.last() {
            let is_before = match self.direction {
                Direction::Forward => changed < key,
                Direction::Backward => changed > key,
            };
            if !is_before {
                break;
            }
            self.changed.pop();
            if let Some(value) = value
                && visit(changed, value)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the row is changed. A changed row is visited by [`Self::before`] of the next row.
    fn covers(&mut self, key: &[u8]) -> bool {
        match self.changed.last() {
            Some(&(changed, None)) if changed == key => {
                self.changed.pop();
                true
            }
            Some(&(changed, Some(_))) => changed == key,
            _ => false,
        }
    }

    fn rest(&mut self, visit: Visit<'_>) -> Result<()> {
        while let Some((changed, value)) = self.changed.pop() {
            if let Some(value) = value
                && visit(changed, value)?.is_break()
            {
                break;
            }
        }
        Ok(())
    }
}
