//! Merges with a partial base: the log no longer reaches back to the base version, so only the keys that
//! the candidate changed are available from it.
//!
//! Stamps show then what running changed in subtrees that the candidate deleted ([`super::doubtful`]), and
//! missing entries show what running deleted. If a conflict cannot be resolved for the candidate because
//! old data is lost, the node of running is used.

use std::collections::BTreeSet;

use espalier_keyspace::KeyRange;

use super::conflict::{Conflict, Held};
use super::named::Told;
use super::resolve::PLACES;
use super::run::Merging;
use crate::error::Result;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

impl Merging<'_> {
    /// Finds the conflicts that the available keys of the base do not show.
    ///
    /// `lost` are stored keys that the candidate changed, of entries whose names are lost.
    pub fn gaps(&mut self, base: u64, lost: &[Vec<u8>]) -> Result<()> {
        self.deleted_though_changed(base)?;
        self.placed_among_others(base)?;
        self.half_an_entry()?;
        self.lost(lost)
    }

    /// Finds writes of the candidate in entries and containers that running no longer has. Must be called
    /// first: their ancestors are lost and cannot be restored.
    pub fn written_where_nothing_is(&mut self) -> Result<()> {
        let tree = KeyRange::prefix(&self.running.stored.tree.prefix(Subspace::Tree));
        let written = self.changes.written_in(&tree);
        let keys: Vec<Vec<u8>> = written
            .filter(|(_, value)| value.is_some())
            .map(|(key, _)| key.to_vec())
            .collect();
        for key in keys {
            if self.is_settled(&key) {
                continue;
            }
            let Some(trail) = self.running.trail(&key)? else {
                continue;
            };
            for point in &trail {
                let around = &key[..point.end];
                if !self.exists_by_itself(point.node) || self.candidate().value(around)?.is_some() {
                    continue;
                }
                self.node_conflict(around)?;
                self.leave(around);
                self.settle(around);
                break;
            }
        }
        Ok(())
    }

    /// Finds entries with a position but no content, or the other way round.
    fn half_an_entry(&mut self) -> Result<()> {
        let all = PLACES.map(|place| KeyRange::prefix(&self.running.stored.tree.prefix(place)));
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
            let there = PLACES.map(|place| candidate.value(&in_subspace(&entry, place)));
            let [content, place] = there;
            if content?.is_some() != place?.is_some() {
                if !self.is_settled(&entry) {
                    self.node_conflict(&entry)?;
                }
                self.leave(&entry);
                self.settle(&entry);
            }
        }
        Ok(())
    }

    fn lost(&mut self, lost: &[Vec<u8>]) -> Result<()> {
        let mut told = BTreeSet::new();
        for key in lost {
            let boundaries = self.running.boundaries(key, Told::ByPosition);
            let Some(node) = boundaries.last().and_then(|boundary| boundary.node) else {
                continue;
            };
            if key[0] == Subspace::Stamp as u8 || !told.insert(node) {
                continue;
            }
            self.conflicts.push(Conflict {
                path: self.running.stored.schema().path(node),
                base: Held::Node,
                running: Held::Absent,
                candidate: Held::Node,
            });
        }
        Ok(())
    }
}
