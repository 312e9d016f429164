//! Folds an edit into the changes of a candidate and their rows.

use std::sync::Arc;

use espalier_keyspace::{Batch, KeyRange, Snapshot};
use rustc_hash::FxHashSet;

use super::edit::Edited;
use super::merge::{neighbours, positions_of};
use super::rows::Rows;
use crate::error::Result;
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::Tree;

/// The rows of all changes of a candidate over a base; replaces the stored rows.
pub(super) fn rows_of_changes(
    tree: &Tree,
    rows: &Rows,
    changes: &Changes,
    basis: &dyn Snapshot,
) -> Result<Batch> {
    let mut fold = Fold::new(tree, rows, Batch::new());
    fold.rewrite(changes, basis)?;
    Ok(fold.batch)
}

/// Folds one edit into the changes of a candidate and their rows.
pub(super) struct Fold<'a> {
    tree: &'a Tree,
    rows: &'a Rows,
    batch: Batch,
    /// The keys of the entries whose positions are already in the batch.
    positioned: FxHashSet<Vec<u8>>,
}

impl<'a> Fold<'a> {
    /// Starts with the rows of a candidate and the given batch.
    pub fn new(tree: &'a Tree, rows: &'a Rows, batch: Batch) -> Self {
        Self {
            tree,
            rows,
            batch,
            positioned: FxHashSet::default(),
        }
    }

    /// Returns the changes with the edit in them, and the batch with their rows.
    pub fn run(
        mut self,
        edited: Edited,
        stored: Arc<Changes>,
        is_rebased: bool,
    ) -> Result<(Changes, Batch)> {
        let Edited { candidate, changes } = edited;
        // Drop all other references, so that the changes are modified in place.
        self.tree.store().candidates().remove(self.rows);
        drop(stored);
        let mut whole = Arc::clone(candidate.changes());
        let basis = candidate.into_base();
        for range in changes.cleared() {
            self.clear(Arc::make_mut(&mut whole), &*basis, &range)?;
        }
        for (key, value) in changes.written() {
            self.write(Arc::make_mut(&mut whole), &*basis, key, value)?;
        }
        let whole = Arc::unwrap_or_clone(whole);
        if is_rebased {
            self.rewrite(&whole, &*basis)?;
        }
        Ok((whole, self.batch))
    }

    fn clear(&mut self, whole: &mut Changes, basis: &dyn Snapshot, range: &KeyRange) -> Result<()> {
        if whole.writes_in(range) {
            self.rows.forget_written_in(&mut self.batch, range);
        }
        let mut cursor = basis.scan(range, espalier_keyspace::Direction::Forward)?;
        if cursor.next()?.is_none() {
            whole.discard_written(range);
            return Ok(());
        }
        drop(cursor);
        self.put_positions(basis, range)?;
        let before = whole.cleared_touching(range);
        whole.delete_range(range);
        for joined in before {
            self.rows.discard_cleared(&mut self.batch, &joined);
        }
        if let Some(joined) = whole.cleared_around(&range.start) {
            self.rows.put_cleared(&mut self.batch, &joined);
        }
        Ok(())
    }

    fn write(
        &mut self,
        whole: &mut Changes,
        basis: &dyn Snapshot,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<()> {
        let old = basis.get(key)?;
        let is_cleared = whole.is_cleared(key);
        let is_unchanged = match value {
            None => is_cleared || old.is_none(),
            Some(_) => !is_cleared && old.as_deref() == value,
        };
        if is_unchanged {
            if whole.has_written(key) {
                whole.forget(key);
                self.rows.discard_written(&mut self.batch, key);
            }
            return Ok(());
        }
        self.put_positions_of_write(basis, key, value)?;
        match value {
            Some(value) => whole.put(key.to_vec(), value.to_vec()),
            None => whole.delete(key.to_vec()),
        }
        self.rows
            .put_written(&mut self.batch, key, old.as_deref(), value);
        Ok(())
    }

    /// Puts the positions of the entries that contain a deleted range.
    fn put_positions(&mut self, basis: &dyn Snapshot, range: &KeyRange) -> Result<()> {
        if range.start.first() == Some(&(Subspace::Stamp as u8)) {
            return Ok(());
        }
        let rows = positions_of(self.tree.state_of(basis), range)?;
        self.put_position_rows(rows);
        Ok(())
    }

    /// Puts the positions of the entries that contain a written key, and of the neighbours of a new
    /// position.
    fn put_positions_of_write(
        &mut self,
        basis: &dyn Snapshot,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<()> {
        self.put_positions(basis, &KeyRange::prefix(key))?;
        if let Some(position) = value.filter(|_| key.first() == Some(&(Subspace::Order as u8))) {
            let rows = neighbours(self.tree.state_of(basis), key, position)?;
            self.put_position_rows(rows);
        }
        Ok(())
    }

    fn put_position_rows(&mut self, rows: Vec<(Vec<u8>, Vec<u8>)>) {
        for (key, held) in rows {
            if self.positioned.insert(key.clone()) {
                self.rows.put_position(&mut self.batch, &key, &held);
            }
        }
    }

    /// Rewrites every row.
    fn rewrite(&mut self, whole: &Changes, basis: &dyn Snapshot) -> Result<()> {
        self.batch.delete_range(self.rows.changes());
        self.positioned.clear();
        for range in whole.cleared() {
            self.put_positions(basis, &range)?;
            self.rows.put_cleared(&mut self.batch, &range);
        }
        for (key, value) in whole.written() {
            self.put_positions_of_write(basis, key, value)?;
            let old = basis.get(key)?;
            self.rows
                .put_written(&mut self.batch, key, old.as_deref(), value);
        }
        Ok(())
    }
}
