//! Reads a candidate: the newest running with the changes of the candidate.

use std::sync::Arc;

use espalier_keyspace::Snapshot;

use super::cache::StoredCandidate;
use super::merge::{BaseCoverage, MergeBasis, Merged, Resolution, merge, saved_base};
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::overlay::{Changes, Layered, Overlay};
use crate::tree::history::changes_back_to;
use crate::tree::locate::TreeState;
use crate::tree::stamp::{self, Stamp};
use crate::tree::validate::definition_key;
use crate::tree::{Tree, View};

impl Tree {
    /// A view of the candidate in a snapshot: running with the changes merged in.
    pub(in crate::tree) fn candidate_view(
        &self,
        snapshot: Box<dyn Snapshot + Send>,
    ) -> Result<View> {
        let stored = self.stored_candidate(&*snapshot)?;
        let merged = self.merged(&*snapshot, &stored)?;
        let compiled = Arc::clone(self.compiled());
        if merged.changes.is_empty() {
            return Ok(View::new(snapshot, compiled, self.id()));
        }
        let overlay = Overlay::with(snapshot, Arc::clone(&merged.changes));
        let mut overlay = Overlay::over(overlay);
        // Indexes and counts are those of running.
        overlay.delete(definition_key(self.id()));
        merged
            .stamps
            .written()
            .filter_map(|(key, stamp)| Some((key.to_vec(), stamp?.to_vec())))
            .for_each(|(key, stamp)| overlay.put(key, stamp));
        Ok(View::new(Box::new(overlay), compiled, self.id()))
    }

    pub(super) fn stored_candidate(&self, snapshot: &dyn Snapshot) -> Result<StoredCandidate> {
        self.store().candidates().read(
            snapshot,
            Rows::of(self.id(), self.datastore(), self.session()),
        )
    }

    /// The sessions that made the current changes.
    pub(in crate::tree) fn candidate_sessions(
        &self,
        snapshot: &dyn Snapshot,
    ) -> Result<Vec<String>> {
        Ok(self.stored_candidate(snapshot)?.header.sessions)
    }

    /// The stamp of running as a whole.
    pub(in crate::tree) fn running_stamp(&self, snapshot: &dyn Snapshot) -> Result<Stamp> {
        let record = stamp::record(snapshot, &self.tree_key())?;
        Ok(record.unwrap_or_default().any)
    }

    /// The changes merged on the newest running; in conflicts the candidate wins.
    pub(super) fn merged(
        &self,
        snapshot: &dyn Snapshot,
        stored: &StoredCandidate,
    ) -> Result<Arc<Merged>> {
        let running = self.running_stamp(snapshot)?.version;
        if running == stored.header.base || stored.changes.is_empty() {
            return Ok(Arc::new(Merged::unchanged(&stored.changes)));
        }
        if let Some(merged) = self.store().candidates().merged(stored, running) {
            return Ok(merged);
        }
        let merged = self.merge(snapshot, stored, Resolution::PreferCandidate)?;
        let merged = Arc::new(merged);
        self.store()
            .candidates()
            .insert_merged(stored, running, &merged);
        Ok(merged)
    }

    /// Merges the changes on the newest running.
    pub(super) fn merge(
        &self,
        snapshot: &dyn Snapshot,
        stored: &StoredCandidate,
        resolution: Resolution,
    ) -> Result<Merged> {
        let running = self.running_stamp(snapshot)?;
        let (back, coverage) = self.back_to_base(snapshot, stored)?;
        let base = Layered {
            base: snapshot,
            changes: &back,
        };
        let basis =
            MergeBasis {
                running: self.state_of(snapshot),
                base,
                coverage,
                versions_since: running.version.checked_sub(stored.header.base).ok_or_else(
                    || Error::corrupt("the base version of the candidate is newer than running"),
                )?,
                time: running.time,
            };
        merge(basis, &stored.changes, resolution)
    }

    /// The changes from running to the candidate's base: all if the log contains them, else those of the
    /// keys that the candidate changes.
    pub(super) fn back_to_base(
        &self,
        snapshot: &dyn Snapshot,
        stored: &StoredCandidate,
    ) -> Result<(Changes, BaseCoverage)> {
        let base = stored.header.base;
        match changes_back_to(snapshot, self.id(), base)? {
            Some(back) => Ok((back, BaseCoverage::Complete)),
            None => {
                let old = stored.rows.read_old(snapshot)?;
                Ok((
                    saved_base(self.state_of(snapshot), &old)?,
                    BaseCoverage::ChangedKeys(base),
                ))
            }
        }
    }

    /// The state of the tree in a snapshot.
    pub(super) fn state_of<'s>(&'s self, snapshot: &'s dyn Snapshot) -> TreeState<'s> {
        TreeState::new(snapshot, self.compiled(), self.id())
    }
}
