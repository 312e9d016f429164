//! Rows as a transaction changes them: read when first needed, written at its end.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

use espalier_keyspace::{Batch, Direction, KeyRange, Operation, Snapshot};

use crate::Result;
use crate::layout::Layout;
use crate::reader::{Reader, Visit};

/// The rows that a transaction reads, and what becomes of them.
pub(crate) struct Rows<'a> {
    layout: &'a Layout,
    engine: &'a dyn Snapshot,
    ram: &'a dyn Snapshot,
    changes: Changes,
}

/// What was read and what becomes of it: of one transaction, or of several that are committed
/// together, each of which reads what those before it changed.
#[derive(Default)]
pub(crate) struct Changes {
    held: BTreeMap<Vec<u8>, Held>,
    sums: BTreeMap<Vec<u8>, i64>,
    dropped: Vec<KeyRange>,
    /// How to undo what the newest transaction did; none while it is the first, which is undone by
    /// forgetting everything.
    journal: Option<Vec<Undo>>,
}

/// One step back.
enum Undo {
    /// What becomes of a row; none where there was nothing to say of it.
    Now(Vec<u8>, Option<Now>),
    /// What was added to a counter.
    Sum(Vec<u8>, i64),
}

struct Held {
    /// What was read; none where the row was not looked at.
    before: Option<Option<Vec<u8>>>,
    now: Now,
}

enum Now {
    Same,
    Put(Vec<u8>),
    Deleted,
}

/// What a transaction does to the rows of each place.
pub(crate) struct Parts {
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

    /// What was read and changed.
    pub(crate) fn into_changes(self) -> Changes {
        self.changes
    }

    fn snapshot(&self, key: &[u8]) -> &'a dyn Snapshot {
        snapshot(self.layout, self.engine, self.ram, key)
    }

    /// What a row holds. It must still hold what was read when the transaction is committed.
    pub(crate) fn read(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let held = &self.changes.held;
        if held.get(key).is_some_and(|held| held.before.is_some()) {
            return Ok(self.changes.held.get(key).and_then(Held::now));
        }
        let snapshot = snapshot(self.layout, self.engine, self.ram, key);
        let before = snapshot.get(key)?.map(Cow::into_owned);
        Ok(self.changes.learn(key, before).now())
    }

    /// Reads rows of one place that will be asked for, many at once.
    pub(crate) fn bring(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        let held = &self.changes.held;
        let is_unread = |key: &&[u8]| held.get(*key).is_none_or(|held| held.before.is_none());
        let keys = keys.iter().map(Vec::as_slice).filter(is_unread);
        let keys: Vec<&[u8]> = keys.collect();
        let Some(first) = keys.first() else {
            return Ok(());
        };
        let values = self.snapshot(first).get_many(&keys)?;
        for (key, value) in keys.into_iter().zip(values) {
            self.changes.learn(key, value.map(Cow::into_owned));
        }
        Ok(())
    }

    /// What a row held before the transaction. It may hold something else when it is committed.
    pub(crate) fn peek(&self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        Ok(self.snapshot(key).get(key)?)
    }

    /// Sets what a row holds.
    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes.set(key, Now::Put(value));
    }

    /// Removes a row.
    pub(crate) fn delete(&mut self, key: Vec<u8>) {
        self.changes.set(key, Now::Deleted);
    }

    /// Adds to a counter.
    pub(crate) fn add(&mut self, key: Vec<u8>, delta: i64) {
        self.changes.add(key, delta);
    }

    /// What will have been added to a counter.
    pub(crate) fn added(&self, key: &[u8]) -> i64 {
        self.changes.sums.get(key).copied().unwrap_or(0)
    }

    /// Removes every row of a range that this transaction does not look at otherwise. Only for a
    /// transaction that is committed alone.
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
    /// A transaction begins that may have to be undone without those before it.
    pub(crate) fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// Undoes what the newest transaction changed. What it read stays required.
    pub(crate) fn undo(&mut self) {
        for undo in self.journal.take().into_iter().flatten().rev() {
            match undo {
                Undo::Sum(key, delta) => *self.sums.entry(key).or_default() -= delta,
                Undo::Now(key, Some(now)) => {
                    if let Some(held) = self.held.get_mut(&key) {
                        held.now = now;
                    }
                }
                Undo::Now(key, None) => {
                    if let Entry::Occupied(mut held) = self.held.entry(key) {
                        match held.get().before {
                            Some(_) => held.get_mut().now = Now::Same,
                            None => drop(held.remove()),
                        }
                    }
                }
            }
        }
    }

    /// Takes in what a row held before.
    fn learn(&mut self, key: &[u8], before: Option<Vec<u8>>) -> &Held {
        let held = self.held.entry(key.to_vec()).or_insert(Held {
            before: None,
            now: Now::Same,
        });
        held.before = Some(before);
        held
    }

    fn set(&mut self, key: Vec<u8>, now: Now) {
        match self.held.entry(key) {
            Entry::Occupied(mut held) => {
                let before = std::mem::replace(&mut held.get_mut().now, now);
                if let Some(journal) = &mut self.journal {
                    journal.push(Undo::Now(held.key().clone(), Some(before)));
                }
            }
            Entry::Vacant(vacant) => {
                if let Some(journal) = &mut self.journal {
                    journal.push(Undo::Now(vacant.key().clone(), None));
                }
                vacant.insert(Held { before: None, now });
            }
        }
    }

    fn add(&mut self, key: Vec<u8>, delta: i64) {
        if let Some(journal) = &mut self.journal {
            journal.push(Undo::Sum(key.clone(), delta));
        }
        *self.sums.entry(key).or_default() += delta;
    }

    /// How many rows were looked at or changed.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// The commit: what was read must still be so, and what changed is written.
    pub(crate) fn into_parts(self, layout: &Layout) -> Parts {
        // Room for all in both: a large list that grows is moved into fresh memory again and again.
        let most = self.dropped.len() + self.held.len() + self.sums.len();
        let mut parts = Parts {
            engine: Batch::new(),
            ram: Vec::with_capacity(most),
        };
        parts.engine.reserve(most);
        for range in self.dropped {
            let is_ram = layout.is_ram(&range.start);
            parts.push(is_ram, Operation::DeleteRange(range));
        }
        for (key, held) in self.held {
            let is_ram = layout.is_ram(&key);
            if let (Some(before), false) = (held.before, is_ram) {
                parts.engine.require(key.clone(), before);
            }
            match held.now {
                Now::Put(value) => parts.push(is_ram, Operation::Put { key, value }),
                Now::Deleted => parts.push(is_ram, Operation::Delete { key }),
                Now::Same => {}
            }
        }
        for (key, delta) in self.sums {
            if delta != 0 {
                parts.push(layout.is_ram(&key), Operation::Add { key, delta });
            }
        }
        parts
    }
}

impl Parts {
    fn push(&mut self, is_ram: bool, operation: Operation) {
        if is_ram {
            self.ram.push(operation);
        } else {
            self.engine.push(operation);
        }
    }
}

impl Held {
    fn now(&self) -> Option<&[u8]> {
        match &self.now {
            Now::Same => self.before.as_ref()?.as_deref(),
            Now::Put(value) => Some(value),
            Now::Deleted => None,
        }
    }
}

impl Reader for Rows<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.read(key)?.map(Cow::Borrowed))
    }

    /// Rows that come into the range until the commit are not noticed; whoever scans requires the
    /// counter of commits of the collection too.
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
    /// The changed rows of a range, the next one last.
    fn changed(&self, range: &KeyRange, direction: Direction) -> Vec<(&[u8], Option<&[u8]>)> {
        if range.is_empty() {
            return Vec::new();
        }
        let held = self.changes.held.range::<[u8], _>(range.bounds());
        let changed = held.filter(|(_, held)| !matches!(held.now, Now::Same));
        let mut changed: Vec<_> = changed
            .map(|(key, held)| (key.as_slice(), held.now()))
            .collect();
        if direction == Direction::Forward {
            changed.reverse();
        }
        changed
    }
}

/// The changed rows that a scan has not come to yet.
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

    /// Whether the row is changed. A changed one is visited by [`Self::before`] of the next.
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
