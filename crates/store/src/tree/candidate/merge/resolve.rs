//! What resolving a conflict does to the changes of the candidate.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::InstancePath;

use super::conflict::{Conflict, Held, Resolution};
use super::run::Merging;
use crate::error::Result;
use crate::overlay::Layered;
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// Where the keys of a subtree are.
const PLACES: [Subspace; 2] = [Subspace::Tree, Subspace::Order];

impl<'a> Merging<'a> {
    /// The candidate as merged so far.
    pub fn candidate(&self) -> Layered<'_> {
        Layered {
            base: self.basis.running.snapshot,
            changes: &self.changes,
        }
    }

    /// Whether running is preferred.
    pub fn prefers_running(&self) -> bool {
        self.resolution == Resolution::PreferRunning
    }

    /// Records a conflict about a node with its subtree; `places` are its keys in the base, in
    /// running and in the candidate.
    pub fn node_conflict(&mut self, places: [&[u8]; 3]) -> Result<()> {
        let path = self.path_of(places[2])?;
        self.conflict_at(&path, places.map(Some))
    }

    /// Records a conflict about a node of a path; `places` are its keys where it is.
    pub fn conflict_at(&mut self, path: &InstancePath, places: [Option<&[u8]>; 3]) -> Result<()> {
        // The candidate as it was made, without what running changed since.
        let made = Layered {
            base: &self.basis.base,
            changes: &self.changes,
        };
        let conflict = Conflict {
            path: path.to_instance_identifier(self.basis.running.schema()),
            base: held(&self.basis.base, places[0])?,
            running: held(self.basis.running.snapshot, places[1])?,
            candidate: held(&made, places[2])?,
        };
        self.conflicts.push(conflict);
        Ok(())
    }

    /// Leaves a subtree as running has it.
    pub fn leave(&mut self, key: &[u8]) {
        for place in PLACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            self.changing().forget_range(&range);
        }
    }

    /// Forgets what the candidate writes in a subtree; what it deletes stays deleted.
    pub fn unwrite(&mut self, key: &[u8]) {
        for place in PLACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            self.changing().forget_written(&range);
        }
    }

    /// Shows what running has in a subtree and the candidate deleted.
    pub fn unhide(&mut self, key: &[u8]) {
        for place in PLACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            self.changing().forget_cleared(&range);
        }
    }

    /// Hides what running has in a subtree; what the candidate has in it shows.
    pub fn hide(&mut self, key: &[u8]) -> Result<()> {
        for place in PLACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            if self.basis.running.any(&range)? {
                self.changing().hide(&range);
            }
        }
        Ok(())
    }

    /// Puts a subtree back as the base had it, below what the candidate changed in it.
    pub fn restore(&mut self, key: &[u8]) -> Result<()> {
        for place in PLACES {
            let range = KeyRange::prefix(&in_subspace(key, place));
            let mut cursor = self.basis.base.cursor(&range, Direction::Forward)?;
            let mut missing = Vec::new();
            while let Some((key, value)) = cursor.next()? {
                if !self.changes.has_written(key) && !self.changes.is_cleared(key) {
                    missing.push((key.to_vec(), value.to_vec()));
                }
            }
            drop(cursor);
            let changes = self.changing();
            missing
                .into_iter()
                .for_each(|(key, value)| changes.put(key, value));
        }
        Ok(())
    }

    /// Moves what the candidate changes in a subtree to another place.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) {
        for place in PLACES {
            let (from, to) = (in_subspace(from, place), in_subspace(to, place));
            let range = KeyRange::prefix(&from);
            let moved = |key: &[u8]| [&to, &key[from.len()..]].concat();
            let written: Vec<_> = self
                .changes
                .written_in(&range)
                .map(|(key, value)| (moved(key), value.map(<[u8]>::to_vec)))
                .collect();
            let cleared: Vec<KeyRange> = self
                .changes
                .cleared_in(&range)
                .into_iter()
                .map(|cleared| cleared.intersection(&range))
                .collect();
            let changes = self.changing();
            changes.forget_range(&range);
            for cleared in cleared {
                let end = cleared.end.filter(|end| end.starts_with(&from));
                changes.hide(&KeyRange {
                    start: moved(&cleared.start),
                    end: end.map_or_else(|| KeyRange::prefix(&to).end, |end| Some(moved(&end))),
                });
            }
            for (key, value) in written {
                match value {
                    Some(value) => changes.put(key, value),
                    None => changes.delete(key),
                }
            }
        }
    }
}

fn held(snapshot: &dyn Snapshot, key: Option<&[u8]>) -> Result<Held> {
    let Some(key) = key else {
        return Ok(Held::Absent);
    };
    let range = KeyRange::prefix(key);
    let found = snapshot.scan(&range, Direction::Forward)?.next()?.is_some();
    Ok(if found { Held::Node } else { Held::Absent })
}
