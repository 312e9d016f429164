//! Merging without a whole base: the log no longer reaches back to the version that the candidate
//! was made on, so that of the base only the keys are known that the candidate changed.
//!
//! What running changed in ranges that the candidate deleted is told by stamps then, and entries
//! that running deleted by their absence. Such conflicts cannot be resolved for the candidate where
//! that needs what is no longer known: the node is left as running has it.

use espalier_keyspace::{Direction, KeyRange};

use super::run::Merging;
use crate::error::Result;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;
use crate::tree::stamp::StampRecord;

impl Merging<'_> {
    /// Finds the conflicts that the keys known of the base do not show.
    pub fn gaps(&mut self, base: u64) -> Result<()> {
        self.deleted_though_changed(base)?;
        self.written_where_nothing_is()
    }

    fn deleted_though_changed(&mut self, base: u64) -> Result<()> {
        let tree = self.basis.running.tree.prefix(Subspace::Tree);
        let all = KeyRange::prefix(&tree);
        let mut changed = Vec::new();
        for cleared in self.changes.cleared_in(&all) {
            let cleared = cleared.intersection(&all);
            let stamps = KeyRange {
                start: in_subspace(&cleared.start, Subspace::Stamp),
                end: cleared.end.map(|end| in_subspace(&end, Subspace::Stamp)),
            };
            let snapshot = self.basis.running.snapshot;
            let mut cursor = snapshot.scan(&stamps, Direction::Forward)?;
            while let Some((key, stamp)) = cursor.next()? {
                if StampRecord::decode(stamp)?.any.version > base {
                    changed.push(in_subspace(key, Subspace::Tree));
                }
            }
        }
        for key in changed {
            if self.is_settled(&key) || self.writes_below(&key) {
                continue;
            }
            self.node_conflict([&key, &key, &key])?;
            if self.prefers_running() {
                self.leave(&key);
            }
            self.settle(&key);
        }
        Ok(())
    }

    fn written_where_nothing_is(&mut self) -> Result<()> {
        let tree = KeyRange::prefix(&self.basis.running.tree.prefix(Subspace::Tree));
        let written = self.changes.written_in(&tree);
        let keys: Vec<Vec<u8>> = written
            .filter(|(_, value)| value.is_some())
            .map(|(key, _)| key.to_vec())
            .collect();
        for key in keys {
            if self.is_settled(&key) {
                continue;
            }
            let Some(trail) = self.basis.running.trail(&key)? else {
                continue;
            };
            for point in &trail {
                let around = &key[..point.end];
                if !self.exists_by_itself(point.node) || self.candidate().value(around)?.is_some() {
                    continue;
                }
                self.node_conflict([around, around, around])?;
                self.leave(around);
                self.settle(around);
                break;
            }
        }
        Ok(())
    }
}
