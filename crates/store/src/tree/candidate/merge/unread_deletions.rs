//! Uncertain merges: possible changes of running in subtrees that the candidate deleted without reading
//! them.
//!
//! The candidate stores no old values of a deleted subtree. If the log does not contain them either, stamps
//! are used: they show for each container and list entry whether its content changed or it was written as a
//! whole. A stamp does not show which leaf or leaf-list entry changed; these count as changed if their
//! parent did.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::NodeId;

use super::merging::Merger;
use super::named_state::{Boundary, EntryIdentity, NamedState};
use super::running_changes::ValuePair;
use crate::error::Result;
use crate::keys::put_local_id;
use crate::overlay::Changes;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;
use crate::tree::stamp::{self, StampRecord};

impl Merger<'_> {
    /// Finds conflicts between deletions of the candidate and possible changes of running since the base.
    pub fn find_uncertain_deletions(&mut self, base: u64) -> Result<()> {
        let stored = Arc::clone(&self.stored);
        let search = UncertainRows {
            running: self.running,
            base_state: self.base,
            back: self.basis.base.changes,
            changes: &stored,
            base,
            rows: BTreeMap::new(),
        };
        for (place, value) in search.find()? {
            let Some(key) = self.running.name(&place)? else {
                continue;
            };
            let before = self.base.stored_key(&key)?;
            // The old values of keys that the candidate wrote, or deleted individually, are stored.
            let has_old_value = before.is_some_and(|before| stored.has_written(&before));
            if has_old_value || self.is_resolved(&key) {
                continue;
            }
            let Some(trail) = self.running.trail(&key)? else {
                continue;
            };
            let is_deleted = match self.changes.get(&key) {
                Some(mine) => mine.is_none(),
                None => self.is_deleted(&key, &trail),
            };
            if is_deleted {
                let pair = ValuePair {
                    base: None,
                    running: Some(value),
                };
                self.deleted_by_candidate(&key, &trail, &pair)?;
            }
        }
        Ok(())
    }

    /// Finds entries that the candidate placed in lists that were rewritten since: the positions of their
    /// former neighbours are lost.
    pub fn find_uncertain_positions(&mut self, base: u64) -> Result<()> {
        let order = KeyRange::prefix(&self.running.stored.tree.prefix(Subspace::Order));
        let rows: Vec<_> = self
            .changes
            .written_in(&order)
            .filter_map(|(row, position)| Some((row.to_vec(), position?.to_vec())))
            .collect();
        for (row, position) in rows {
            let entry = in_subspace(&row, Subspace::Tree);
            if self.is_resolved(&entry)
                || self
                    .running
                    .position(&entry)?
                    .is_some_and(|now| now == position)
                || !self.is_list_rewritten(&entry, base)?
            {
                continue;
            }
            self.node_conflict(&entry)?;
            if self.prefers_running() {
                self.use_running(&entry);
            }
            self.mark_resolved(&entry);
        }
        Ok(())
    }

    /// Whether running has entries in the list of an entry, and rewrote the whole list.
    fn is_list_rewritten(&self, entry: &[u8], base: u64) -> Result<bool> {
        let Some(list) = self.running.list_of(entry)? else {
            return Ok(false);
        };
        let Some(list) = self.running.stored_key(list)? else {
            return Ok(false);
        };
        if !self.running.stored.any(&KeyRange::prefix(&list))? {
            return Ok(false);
        }
        let mut enclosing = self.running.boundaries(&list, EntryIdentity::ByPosition);
        enclosing.retain(|own| !own.is_list_prefix);
        let lengths: Vec<usize> = enclosing.iter().map(|own| own.length).collect();
        let record = stamp::find_record(self.running.stored.snapshot, &list, &lengths)?;
        Ok(record.whole.version > base)
    }
}

/// A search for possibly changed rows, by stored keys.
struct UncertainRows<'a> {
    running: NamedState<'a>,
    base_state: NamedState<'a>,
    /// The changes from running to the base, as far as available.
    back: &'a Changes,
    /// The changes of the candidate.
    changes: &'a Changes,
    /// The base version.
    base: u64,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl UncertainRows<'_> {
    /// The rows of running that may have changed, in key order.
    fn find(mut self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let tree = self.running.stored.tree.prefix(Subspace::Tree);
        let all = KeyRange::prefix(&tree);
        for cleared in self.changes.cleared_in(&all) {
            self.scan_deleted(&cleared.intersection(&all))?;
        }
        let changes = self.changes;
        for (key, value) in changes.written_in(&all) {
            if value.is_none() {
                self.scan_deleted(&KeyRange::prefix(key))?;
            }
        }
        Ok(self.rows)
    }

    /// Searches a range that the candidate deleted.
    fn scan_deleted(&mut self, range: &KeyRange) -> Result<()> {
        for now in self
            .base_state
            .ranges_in_running(&self.running, range, self.back)?
        {
            self.scan_running(&now)?;
        }
        Ok(())
    }

    /// Searches a range of running.
    fn scan_running(&mut self, range: &KeyRange) -> Result<()> {
        let enclosing = self.enclosing(range);
        let lengths: Vec<usize> = enclosing.iter().map(|own| own.length).collect();
        let snapshot = self.running.stored.snapshot;
        let outer = stamp::find_record(snapshot, &range.start, &lengths)?;
        if outer.whole.version > self.base {
            return self.rows_in(range);
        }
        if let Some(own) = enclosing.last()
            && outer.any.version > self.base
        {
            self.entries_of(&range.start[..own.length], own.node, range)?;
        }
        let stamps = KeyRange {
            start: in_subspace(&range.start, Subspace::Stamp),
            end: range
                .end
                .as_ref()
                .map(|end| in_subspace(end, Subspace::Stamp)),
        };
        let mut cursor = snapshot.scan(&stamps, Direction::Forward)?;
        while let Some((key, value)) = cursor.next()? {
            let record = StampRecord::decode(value)?;
            let key = in_subspace(key, Subspace::Tree);
            if record.whole.version > self.base {
                self.rows_in(&KeyRange::prefix(&key))?;
                let Some(end) = KeyRange::prefix(&key).end else {
                    break;
                };
                cursor.seek(&in_subspace(&end, Subspace::Stamp))?;
            } else if record.any.version > self.base {
                if let Some(value) = snapshot.get(&key)? {
                    self.rows.insert(key.clone(), value.into_owned());
                }
                let own = self.running.boundaries(&key, EntryIdentity::ByPosition);
                let node = own.last().and_then(|own| own.node);
                self.entries_of(&key, node, range)?;
            }
        }
        Ok(())
    }

    /// The resources that contain a range, the innermost last.
    fn enclosing(&self, range: &KeyRange) -> Vec<Boundary> {
        let schema = self.running.stored.schema();
        let is_leaf_list = |own: &Boundary| {
            own.node
                .is_some_and(|node| schema.node(node).is_leaf_list())
        };
        let mut enclosing = self
            .running
            .boundaries(&range.start, EntryIdentity::ByPosition);
        enclosing.retain(|own| {
            let is_in = range.contains(&range.start[..own.length]);
            !own.is_list_prefix && !is_in && !is_leaf_list(own)
        });
        enclosing
    }

    /// Adds the entries in a range of the leaf-lists of a node.
    fn entries_of(
        &mut self,
        enclosing: &[u8],
        node: Option<NodeId>,
        range: &KeyRange,
    ) -> Result<()> {
        let compiled = self.running.stored.compiled;
        for child in compiled.layout.children(node) {
            if compiled.schema.node(child).is_leaf_list() {
                let mut key = enclosing.to_vec();
                put_local_id(&mut key, compiled.layout.id(child));
                self.rows_in(&KeyRange::prefix(&key).intersection(range))?;
            }
        }
        Ok(())
    }

    fn rows_in(&mut self, range: &KeyRange) -> Result<()> {
        let snapshot = self.running.stored.snapshot;
        let mut cursor = snapshot.scan(range, Direction::Forward)?;
        while let Some((key, value)) = cursor.next()? {
            self.rows.insert(key.to_vec(), value.to_vec());
        }
        Ok(())
    }
}
