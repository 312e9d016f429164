//! Recomputes the changes of candidates over the future running when modules change.

use std::sync::Arc;

use espalier_keyspace::{Batch, KeyRange, Snapshot};
use espalier_yang::Errors;

use super::cache::StoredCandidate;
use super::fold::rows_of_changes;
use super::header::Header;
use super::merge::Merged;
use crate::error::{Error, Result};
use crate::overlay::{Changes, Overlay};
use crate::subspace::Subspace;
use crate::tree::Tree;
use crate::tree::commit_pipeline::write_stamps;
use crate::tree::copy::put_differences;

/// A candidate in a snapshot.
pub(in crate::tree) struct CandidateState {
    stored: StoredCandidate,
    merged: Arc<Merged>,
    /// Whether running is still the base of its changes.
    pub is_on_newest: bool,
}

impl CandidateState {
    /// Whether it has changes.
    pub fn has_changes(&self) -> bool {
        !self.stored.changes.is_empty()
    }

    /// Its conflicts with running, as errors.
    pub fn conflicts(&self) -> Errors {
        let mut errors = Errors::new();
        for conflict in &self.merged.conflicts {
            errors.push(conflict.to_error());
        }
        errors
    }

    /// Its changes of data, without stamps.
    pub fn data(&self, tree: &Tree) -> Arc<Changes> {
        let stamps = KeyRange::prefix(&tree.id().prefix(Subspace::Stamp));
        let mut changes = Arc::clone(&self.merged.changes);
        Arc::make_mut(&mut changes).discard_range(&stamps);
        changes
    }

    /// Requires that the candidate is unchanged when a batch is committed.
    pub fn require(&self, batch: &mut Batch) {
        batch.require(self.stored.rows.header(), self.stored.header_bytes.clone());
    }
}

impl Tree {
    /// The candidate in a snapshot.
    pub(in crate::tree) fn candidate_state(
        &self,
        snapshot: &dyn Snapshot,
    ) -> Result<CandidateState> {
        let stored = self.stored_candidate(snapshot)?;
        let merged = self.merged(snapshot, &stored)?;
        let running = self.running_stamp(snapshot)?.version;
        Ok(CandidateState {
            is_on_newest: stored.header.base == running,
            stored,
            merged,
        })
    }

    /// Puts the candidate into a batch, as the changes from `running` to `candidate`; `version` is the
    /// future version of running.
    pub(in crate::tree) fn put_recomputed(
        &self,
        candidate_state: CandidateState,
        running: Overlay,
        candidate: &dyn Snapshot,
        version: u64,
        batch: &mut Batch,
    ) -> Result<()> {
        let StoredCandidate {
            rows,
            header,
            header_bytes,
            ..
        } = candidate_state.stored;
        let now = self.store().now();
        let next = Header {
            sessions: header.sessions.clone(),
            ..header.edited(version, now, "")
        };
        let mut overlay = Overlay::over(running);
        put_differences(candidate, self.id(), &mut overlay, self.id())?;
        let touched = self.touched_by(&mut overlay)?;
        write_stamps(&mut overlay, touched, next.stamp())?;
        let (running, changes) = overlay
            .into_base_overlay()
            .ok_or_else(|| Error::corrupt("a candidate is not over running"))?;
        batch.append(rows_of_changes(self, &rows, &changes, &running)?);
        self.put_header(&rows, header_bytes, next, &changes, batch);
        self.store().candidates().remove(&rows);
        Ok(())
    }
}
