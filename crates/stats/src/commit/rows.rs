//! The rows of a commit: read on demand, written at the end.

use std::collections::BTreeMap;

use espalier_keyspace::{Batch, KeyRange, Snapshot};

use crate::limits::ROW_BYTES;
use crate::number::take_varint;
use crate::row::{
    DEPTH_MAX, MergeMode, Row, entries, entry_digit, leaf, merge, row, spread_marker,
};
use crate::{Number, Path, Result};

/// The rows that a commit reads and changes.
pub(super) struct Rows<'a> {
    snapshot: &'a dyn Snapshot,
    rows: BTreeMap<Vec<u8>, RowState>,
    /// Recent rows and block rows, in the order of their keys.
    recent: Vec<PackedRow>,
    blocks: Vec<PackedRow>,
    dropped: Vec<KeyRange>,
}

/// A row of a metric that is read and written once.
pub(super) struct PackedRow {
    pub(super) key: Vec<u8>,
    pub(super) before: Option<Vec<u8>>,
    /// The new value; `None` if the row is deleted.
    pub(super) new: Option<Vec<u8>>,
}

struct RowState {
    before: Option<Vec<u8>>,
    change: RowChange,
}

enum RowChange {
    None,
    Put(Vec<u8>),
    Delete,
}

impl RowState {
    fn new(before: Option<Vec<u8>>) -> Self {
        let change = RowChange::None;
        Self { before, change }
    }

    fn current(&self) -> Option<&[u8]> {
        match &self.change {
            RowChange::None => self.before.as_deref(),
            RowChange::Put(new) => Some(new),
            RowChange::Delete => None,
        }
    }

    fn existed(&self) -> RowBefore {
        match self.current() {
            None => RowBefore::Absent,
            Some(_) => RowBefore::Present,
        }
    }
}

/// Whether a row existed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowBefore {
    /// It did not exist.
    Absent,
    /// It existed.
    Present,
}

impl<'a> Rows<'a> {
    pub(super) fn new(snapshot: &'a dyn Snapshot) -> Self {
        Self {
            snapshot,
            rows: BTreeMap::new(),
            recent: Vec::new(),
            blocks: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn row(&mut self, key: &[u8]) -> Result<&mut RowState> {
        if !self.rows.contains_key(key) {
            let before = self.snapshot.get(key)?.map(std::borrow::Cow::into_owned);
            self.rows.insert(key.to_vec(), RowState::new(before));
        }
        self.rows
            .get_mut(key)
            .ok_or_else(|| crate::Error::corrupt("a row disappeared while it was changed"))
    }

    /// The current value of a row.
    pub(super) fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(self.row(key)?.current())
    }

    /// Writes the recent row of a metric, whose key is after those before.
    pub(super) fn put_recent(&mut self, row: PackedRow) {
        self.recent.push(row);
    }

    /// Writes a block row, whose key is after those before.
    pub(super) fn put_block(&mut self, row: PackedRow) {
        self.blocks.push(row);
    }

    /// Reads rows together, for later calls of [`Self::get`].
    pub(super) fn load(&mut self, keys: &[&[u8]]) -> Result<()> {
        for (key, before) in keys.iter().zip(self.snapshot.get_many(keys)?) {
            let before = before.map(std::borrow::Cow::into_owned);
            let row = self.rows.entry(key.to_vec());
            row.or_insert_with(|| RowState::new(before));
        }
        Ok(())
    }

    /// The state before the commit.
    pub(super) fn snapshot(&self) -> &'a dyn Snapshot {
        self.snapshot
    }

    /// The value of a path in the bucket at `key`.
    pub(super) fn number(&mut self, key: &[u8], path: &Path) -> Result<Option<Number>> {
        let (name, mut key) = (path.as_str().as_bytes(), key.to_vec());
        for depth in 0..=DEPTH_MAX {
            let Some(stored) = self.get(&key)? else {
                return Ok(None);
            };
            match row(stored)? {
                Row::Spread => key.push(entry_digit(name, depth)),
                Row::Leaf(all) => {
                    for entry in entries(all) {
                        let entry = entry?;
                        if entry.path == name {
                            return Ok(Some(entry.number));
                        }
                    }
                    return Ok(None);
                }
            }
        }
        Err(crate::Error::corrupt("a row is nested too deep"))
    }

    /// The keys of a range that were read or changed, in order.
    pub(super) fn keys(&self, range: &KeyRange) -> impl Iterator<Item = &[u8]> {
        let rows = self.rows.range::<[u8], _>(range.bounds());
        rows.map(|(key, _)| key.as_slice())
    }

    /// Sets the value of a row.
    pub(super) fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<RowBefore> {
        let state = self.row(key)?;
        let before_change = state.existed();
        state.change = RowChange::Put(value);
        Ok(before_change)
    }

    /// Deletes a row.
    pub(super) fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.row(key)?.change = RowChange::Delete;
        Ok(())
    }

    /// Forgets a request that was executed before `second`, unless one with its name was executed since.
    pub(super) fn forget_request(
        &mut self,
        time: &[u8],
        request: &[u8],
        second: i64,
    ) -> Result<()> {
        self.delete(time)?;
        let state = self.row(request)?;
        if let Some(mut done) = state.current()
            && i64::try_from(take_varint(&mut done)?).is_ok_and(|done| done < second)
        {
            state.change = RowChange::Delete;
        }
        Ok(())
    }

    /// Deletes a range, including keys that were not read.
    pub(super) fn drop_range(&mut self, range: KeyRange) {
        if !self.dropped.contains(&range) {
            self.dropped.push(range);
        }
    }

    /// Changes the values of the bucket at `key`.
    pub(super) fn change(
        &mut self,
        key: &[u8],
        values: &[(Path, Number)],
        mode: MergeMode,
    ) -> Result<RowBefore> {
        self.change_below(key.to_vec(), 0, values, mode)
    }

    fn change_below(
        &mut self,
        key: Vec<u8>,
        depth: usize,
        values: &[(Path, Number)],
        mode: MergeMode,
    ) -> Result<RowBefore> {
        let state = self.row(&key)?;
        let before_change = state.existed();
        let old = match state.current().map(row).transpose()? {
            None => &[],
            Some(Row::Leaf(entries)) => entries,
            Some(Row::Spread) => {
                self.change_children(&key, depth, values, mode)?;
                return Ok(before_change);
            }
        };
        let mut new = Vec::with_capacity(old.len() + 16 * values.len());
        merge(old, values, mode, &mut new)?;
        if new.len() > ROW_BYTES && depth < DEPTH_MAX {
            self.split(&key, depth, &new)?;
        } else {
            self.row(&key)?.change = RowChange::Put(leaf(&new));
        }
        Ok(before_change)
    }

    fn change_children(
        &mut self,
        key: &[u8],
        depth: usize,
        values: &[(Path, Number)],
        mode: MergeMode,
    ) -> Result<()> {
        let mut children: BTreeMap<u8, Vec<(Path, Number)>> = BTreeMap::new();
        for (path, number) in values {
            let digit = entry_digit(path.as_str().as_bytes(), depth);
            children
                .entry(digit)
                .or_default()
                .push((path.clone(), *number));
        }
        for (digit, values) in children {
            self.change_below(child(key, digit), depth + 1, &values, mode)?;
        }
        Ok(())
    }

    /// Moves the entries of a row that has grown too large to 16 rows below it.
    fn split(&mut self, key: &[u8], depth: usize, all: &[u8]) -> Result<()> {
        let mut values = Vec::new();
        for entry in entries(all) {
            let entry = entry?;
            values.push((Path::stored(entry.path)?, entry.number));
        }
        self.row(key)?.change = RowChange::Put(spread_marker());
        self.change_children(key, depth, &values, MergeMode::Set)
    }

    /// The commit: the reads as preconditions, and the changes.
    pub(super) fn into_batch(self) -> Batch {
        let mut batch = Batch::new();
        for range in self.dropped {
            batch.delete_range(range);
        }
        for (key, RowState { before, change }) in self.rows {
            match change {
                RowChange::None => batch.require(key, before),
                RowChange::Put(new) => write(&mut batch, key, before, Some(new)),
                RowChange::Delete => write(&mut batch, key, before, None),
            }
        }
        for PackedRow { key, before, new } in self.recent.into_iter().chain(self.blocks) {
            write(&mut batch, key, before, new);
        }
        batch.assume_met_at(self.snapshot.version());
        batch
    }
}

/// Adds the change of a row, if there is any, and its precondition.
fn write(batch: &mut Batch, key: Vec<u8>, before: Option<Vec<u8>>, new: Option<Vec<u8>>) {
    if before != new {
        match new {
            Some(new) => batch.put(key.clone(), new),
            None => batch.delete(key.clone()),
        }
    }
    batch.require(key, before);
}

fn child(key: &[u8], digit: u8) -> Vec<u8> {
    let mut child = Vec::with_capacity(key.len() + 1);
    child.extend_from_slice(key);
    child.push(digit);
    child
}
