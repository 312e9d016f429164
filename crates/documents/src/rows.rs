//! Rows as a transaction changes them: read when first needed, written at its end.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use espalier_keyspace::{Batch, Direction, KeyRange, Operation, Snapshot};

use crate::Result;
use crate::layout::Layout;
use crate::reader::{Reader, Visit};

/// The rows that a transaction reads, and what becomes of them.
pub(crate) struct Rows<'a> {
    layout: &'a Layout,
    engine: &'a dyn Snapshot,
    ram: &'a dyn Snapshot,
    held: BTreeMap<Vec<u8>, Held>,
    sums: BTreeMap<Vec<u8>, i64>,
    dropped: Vec<KeyRange>,
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
    pub(crate) fn new(layout: &'a Layout, engine: &'a dyn Snapshot, ram: &'a dyn Snapshot) -> Self {
        Self {
            layout,
            engine,
            ram,
            held: BTreeMap::new(),
            sums: BTreeMap::new(),
            dropped: Vec::new(),
        }
    }

    fn snapshot(&self, key: &[u8]) -> &'a dyn Snapshot {
        if self.layout.is_ram(key) {
            self.ram
        } else {
            self.engine
        }
    }

    /// What a row holds. It must still hold what was read when the transaction is committed.
    pub(crate) fn read(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        if self.held.get(key).is_none_or(|held| held.before.is_none()) {
            let before = self.snapshot(key).get(key)?.map(Cow::into_owned);
            let held = self.held.entry(key.to_vec()).or_insert(Held {
                before: None,
                now: Now::Same,
            });
            held.before = Some(before);
        }
        Ok(self.held.get(key).and_then(Held::now))
    }

    /// What a row held before the transaction. It may hold something else when it is committed.
    pub(crate) fn peek(&self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        Ok(self.snapshot(key).get(key)?)
    }

    /// Sets what a row holds.
    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.set(key, Now::Put(value));
    }

    /// Removes a row.
    pub(crate) fn delete(&mut self, key: Vec<u8>) {
        self.set(key, Now::Deleted);
    }

    fn set(&mut self, key: Vec<u8>, now: Now) {
        match self.held.get_mut(&key) {
            Some(held) => held.now = now,
            None => drop(self.held.insert(key, Held { before: None, now })),
        }
    }

    /// Adds to a counter.
    pub(crate) fn add(&mut self, key: Vec<u8>, delta: i64) {
        *self.sums.entry(key).or_default() += delta;
    }

    /// What will have been added to a counter.
    pub(crate) fn added(&self, key: &[u8]) -> i64 {
        self.sums.get(key).copied().unwrap_or(0)
    }

    /// Removes every row of a range that this transaction does not look at otherwise.
    pub(crate) fn drop_range(&mut self, range: KeyRange) {
        self.dropped.push(range);
    }

    /// The commit: what was read must still be so, and what changed is written.
    pub(crate) fn into_parts(self) -> Parts {
        let mut parts = Parts {
            engine: Batch::new(),
            ram: Vec::new(),
        };
        let layout = self.layout;
        for range in self.dropped {
            let is_ram = layout.is_ram(&range.start);
            parts.push(is_ram, Operation::DeleteRange(range));
        }
        for (key, held) in self.held {
            let is_ram = layout.is_ram(&key);
            match held.now {
                Now::Put(value) => {
                    let key = key.clone();
                    parts.push(is_ram, Operation::Put { key, value });
                }
                Now::Deleted => {
                    let key = key.clone();
                    parts.push(is_ram, Operation::Delete { key });
                }
                Now::Same => {}
            }
            if let (Some(before), false) = (held.before, is_ram) {
                parts.engine.require(key, before);
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
        let start = Bound::Included(range.start.as_slice());
        let end = range
            .end
            .as_deref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        let held = self.held.range::<[u8], _>((start, end));
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
