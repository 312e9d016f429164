//! Applies the resolution of a conflict to the changes of the candidate.
//!
//! A node is always resolved in both subspaces that contain keys of it: an entry and its position belong
//! together.

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use super::conflict::{Conflict, ConflictContent, Resolution};
use super::merging::Merger;
use crate::error::Result;
use crate::overlay::Layered;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// The subspaces with keys of a subtree.
pub(super) const SUBSPACES: [Subspace; 2] = [Subspace::Tree, Subspace::Order];

impl Merger<'_> {
    /// Whether running wins conflicts.
    pub fn prefers_running(&self) -> bool {
        self.resolution == Resolution::PreferRunning
    }

    /// Records a conflict about a node with its content.
    pub fn node_conflict(&mut self, key: &[u8]) -> Result<()> {
        // The candidate on its base, without later changes of running.
        let candidate = Layered {
            base: &self.base,
            changes: &self.changes,
        };
        let path = self.path_of(key)?;
        let conflict = Conflict {
            path: path.to_instance_identifier(self.running.stored.schema()),
            base: held(self.base.any(key)?),
            running: held(self.running.any(key)?),
            candidate: held({
                let range = KeyRange::prefix(key);
                candidate
                    .cursor(&range, Direction::Forward)?
                    .next()?
                    .is_some()
            }),
        };
        self.conflicts.push(conflict);
        Ok(())
    }

    /// Uses running's version of a subtree.
    pub fn use_running(&mut self, key: &[u8]) {
        for place in SUBSPACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            self.changes_mut().discard_range(&range);
        }
    }

    /// Hides running's version of a subtree; the candidate's remains.
    pub fn hide_running(&mut self, key: &[u8]) -> Result<()> {
        for place in SUBSPACES {
            let key = in_subspace(key, place);
            if self.running.any(&key)? {
                self.changes_mut().hide(&KeyRange::prefix(&key));
            }
        }
        Ok(())
    }

    /// Restores a subtree from the base, except what the candidate changed in it.
    pub fn restore_base(&mut self, key: &[u8]) -> Result<()> {
        for place in SUBSPACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            let mut missing = Vec::new();
            let mut cursor = self.base.scan(&range, Direction::Forward)?;
            while let Some((key, value)) = cursor.next()? {
                if !self.changes.has_written(key) && !self.changes.is_cleared(key) {
                    missing.push((key.to_vec(), value.to_vec()));
                }
            }
            drop(cursor);
            let changes = self.changes_mut();
            missing
                .into_iter()
                .for_each(|(key, value)| changes.put(key, value));
        }
        Ok(())
    }
}

fn held(is_there: bool) -> ConflictContent {
    if is_there {
        ConflictContent::Node
    } else {
        ConflictContent::Absent
    }
}
