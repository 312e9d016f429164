//! Merges with a partial base: the log no longer reaches back to the base version, so only the keys that
//! the candidate changed are available from it.
//!
//! Stamps show then what running changed in subtrees that the candidate deleted ([`super::unread_deletions`]), and
//! missing entries show what running deleted. If a conflict cannot be resolved for the candidate because
//! old data is lost, the node of running is used.

use std::collections::BTreeSet;

use espalier_keyspace::KeyRange;

use super::conflict::{Conflict, ConflictContent};
use super::merging::Merger;
use super::named_state::EntryIdentity;
use super::resolve::SUBSPACES;
use crate::error::Result;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

impl Merger<'_> {
    /// Finds the conflicts that the available keys of the base do not show.
    ///
    /// `lost` are stored keys that the candidate changed, of entries whose names are lost.
    pub fn merge_partial_base(&mut self, base: u64, lost: &[Vec<u8>]) -> Result<()> {
        self.find_uncertain_deletions(base)?;
        self.find_uncertain_positions(base)?;
        self.find_incomplete_entries()?;
        self.report_lost(lost)
    }

    /// Finds writes of the candidate in entries and containers that running no longer has. Must be called
    /// first: their ancestors are lost and cannot be restored.
    pub fn find_orphaned_writes(&mut self) -> Result<()> {
        let tree = KeyRange::prefix(&self.running.stored.tree.prefix(Subspace::Tree));
        let written = self.changes.written_in(&tree);
        let keys: Vec<Vec<u8>> = written
            .filter(|(_, value)| value.is_some())
            .map(|(key, _)| key.to_vec())
            .collect();
        for key in keys {
            if self.is_resolved(&key) {
                continue;
            }
            let Some(trail) = self.running.trail(&key)? else {
                continue;
            };
            for point in &trail {
                let ancestor = &key[..point.end];
                if !self.exists_by_itself(point.node) || self.candidate().value(ancestor)?.is_some()
                {
                    continue;
                }
                self.node_conflict(ancestor)?;
                self.use_running(ancestor);
                self.mark_resolved(ancestor);
                break;
            }
        }
        Ok(())
    }

    /// Finds entries with a position but no content, or the other way round.
    fn find_incomplete_entries(&mut self) -> Result<()> {
        let all = SUBSPACES.map(|place| KeyRange::prefix(&self.running.stored.tree.prefix(place)));
        let entries: BTreeSet<Vec<u8>> = all
            .iter()
            .flat_map(|range| self.changes.written_in(range))
            .map(|(key, _)| in_subspace(key, Subspace::Tree))
            .collect();
        for entry in entries {
            let own = self.running.trail(&entry)?;
            let own = own.and_then(|trail| trail.last().copied());
            let schema = self.running.stored.schema();
            let is_placed = own.is_some_and(|own| self.running.is_indexed(schema.node(own.node)));
            if !is_placed {
                continue;
            }
            let candidate = self.candidate();
            let there = SUBSPACES.map(|place| candidate.value(&in_subspace(&entry, place)));
            let [content, place] = there;
            if content?.is_some() != place?.is_some() {
                if !self.is_resolved(&entry) {
                    self.node_conflict(&entry)?;
                }
                self.use_running(&entry);
                self.mark_resolved(&entry);
            }
        }
        Ok(())
    }

    fn report_lost(&mut self, lost: &[Vec<u8>]) -> Result<()> {
        let mut reported = BTreeSet::new();
        for key in lost {
            let boundaries = self.running.boundaries(key, EntryIdentity::ByPosition);
            let Some(node) = boundaries.last().and_then(|boundary| boundary.node) else {
                continue;
            };
            if key[0] == Subspace::Stamp as u8 || !reported.insert(node) {
                continue;
            }
            self.conflicts.push(Conflict {
                path: self.running.stored.schema().path(node),
                base: ConflictContent::Node,
                running: ConflictContent::Absent,
                candidate: ConflictContent::Node,
            });
        }
        Ok(())
    }
}
