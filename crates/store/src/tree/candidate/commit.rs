//! Operations on a whole candidate: validate, commit, discard, update.

use std::sync::Arc;

use espalier_keyspace::{Batch, Snapshot};
use espalier_yang::{ErrorTag, Errors};

use super::cache::StoredCandidate;
use super::fold::Fold;
use super::merge::{Conflict, Merged, Resolution};
use crate::error::{Error, Result};
use crate::overlay::{Changes, Overlay};
use crate::subspace::Subspace;
use crate::tree::confirm::ConfirmEffect;
use crate::tree::proposal::Proposal;
use crate::tree::validate::validate;
use crate::tree::{Commit, CommitOptions, ConfirmOptions, Datastore, Tree};

impl Tree {
    /// Whether the candidate has changes.
    pub fn has_changes(&self) -> Result<bool> {
        self.check_candidate("only a candidate has changes")?;
        let snapshot = self.store().driver().snapshot()?;
        Ok(!self.stored_candidate(&*snapshot)?.changes.is_empty())
    }

    /// The nodes that running and the candidate changed differently since the candidate's base version.
    pub fn conflicts(&self) -> Result<Vec<Conflict>> {
        self.check_candidate("only a candidate has conflicts with running")?;
        let snapshot = self.store().driver().snapshot()?;
        let stored = self.stored_candidate(&*snapshot)?;
        Ok(self.merged(&*snapshot, &stored)?.conflicts.clone())
    }

    /// Commits the candidate to running as a whole and empties it.
    ///
    /// # Errors
    /// Every conflict with running, every constraint that the result violates, `in-use` if another session
    /// holds a lock.
    pub fn commit_candidate(&self, options: CommitOptions<'_>) -> Result<Commit> {
        self.commit_confirmed(ConfirmOptions::default(), options)
    }

    /// Commits the candidate, with its effect on a confirmed commit.
    pub(in crate::tree) fn commit_candidate_with(
        &self,
        effect: ConfirmEffect<'_>,
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        self.check_candidate("only a candidate can be committed")?;
        let running = self.sibling_datastore(Datastore::Running, "")?;
        let mut is_discarded = false;
        let commit = running.propose_and_commit_with(options, effect, &|_| {}, &mut |view| {
            let mut extra = Batch::new();
            let snapshot = view.into_snapshot();
            self.require_unlocked(&*snapshot, options.session, &mut extra)?;
            let stored = self.stored_candidate(&*snapshot)?;
            let merged = self.merged(&*snapshot, &stored)?;
            refuse_conflicts(&merged.conflicts)?;
            self.put_empty(&*snapshot, &stored, &mut extra)?;
            is_discarded = stored.changes.is_empty();
            let mut overlay = Overlay::with(snapshot, data_only(&merged, self));
            let touched = self.touched_by(&mut overlay)?;
            Ok(Proposal {
                overlay,
                touched,
                extra,
            })
        })?;
        if !commit.is_changed && !is_discarded {
            // The changes had no effect. A concurrent edit of the candidate is kept.
            let snapshot = self.store().driver().snapshot()?;
            let batch = self.discarding(&*snapshot, options)?;
            drop(snapshot);
            match self.store().driver().commit(batch) {
                Err(error) if error.is_conflict() => {}
                result => drop(result?),
            }
        }
        Ok(commit)
    }

    /// Discards the changes of the candidate, so that it reads as running.
    pub fn discard(&self, options: CommitOptions<'_>) -> Result<()> {
        self.check_candidate("only a candidate's changes can be discarded")?;
        let _one_at_a_time = self.store().lock(self.own_id());
        self.transact_on_newest(&mut |snapshot| Ok((self.discarding(&*snapshot, options)?, ())))
    }

    /// The batch that empties the candidate.
    fn discarding(&self, snapshot: &dyn Snapshot, options: CommitOptions<'_>) -> Result<Batch> {
        let mut batch = Batch::new();
        let stored = self.stored_candidate(snapshot)?;
        if !stored.changes.is_empty() {
            self.require_unlocked(snapshot, options.session, &mut batch)?;
            self.put_empty(snapshot, &stored, &mut batch)?;
            batch.require_all([self.anchor_precondition()]);
        }
        Ok(batch)
    }

    /// Rebases the candidate on the newest running. The resolution decides for nodes that both changed
    /// differently; returns the conflicts.
    ///
    /// # Errors
    /// Every conflict, with [`Resolution::RevertOnConflict`]; nothing is changed then.
    pub fn update(
        &self,
        resolution: Resolution,
        options: CommitOptions<'_>,
    ) -> Result<Vec<Conflict>> {
        self.check_candidate("only a candidate can be updated")?;
        let _one_at_a_time = self.store().lock(self.own_id());
        self.transact_on_newest(&mut |snapshot| self.updating(snapshot, resolution, options))
    }

    fn updating(
        &self,
        snapshot: Box<dyn Snapshot + Send>,
        resolution: Resolution,
        options: CommitOptions<'_>,
    ) -> Result<(Batch, Vec<Conflict>)> {
        let mut batch = Batch::new();
        self.require_unlocked(&*snapshot, options.session, &mut batch)?;
        let stored = self.stored_candidate(&*snapshot)?;
        let running = self.running_stamp(&*snapshot)?.version;
        if stored.changes.is_empty() || stored.header.base == running {
            return Ok((Batch::new(), Vec::new()));
        }
        let merged = self.merge(&*snapshot, &stored, resolution)?;
        if resolution == Resolution::RevertOnConflict {
            refuse_conflicts(&merged.conflicts)?;
        }
        let is_rebased = !Arc::ptr_eq(&merged.changes, &stored.changes);
        let now = self.store().now();
        let next = super::header::Header {
            sessions: stored.header.sessions.clone(),
            ..stored.header.edited(running, now, options.session)
        };
        let edited = super::edit::Edited {
            candidate: Overlay::with(snapshot, merged.changes),
            changes: Arc::new(merged.stamps),
        };
        let fold = Fold::new(self, &stored.rows, batch);
        let (changes, mut batch) = fold.run(edited, stored.changes, is_rebased)?;
        self.put_header(
            &stored.rows,
            stored.header_bytes,
            next,
            &changes,
            &mut batch,
        );
        Ok((batch, merged.conflicts))
    }

    /// Validates the content of the datastore: for a candidate, what its commit would validate; for the
    /// others, every constraint of the whole.
    ///
    /// # Errors
    /// Every conflict with running and every violated constraint.
    pub fn validate(&self) -> Result<()> {
        if !self.datastore().is_candidate() {
            return self.validate_whole();
        }
        if !self.is_constrained() {
            // There are no indexes without constraints: the whole view is validated.
            return self.view()?.validate();
        }
        let mut overlay = self.candidate_over_running()?;
        let touched = self.touched_by(&mut overlay)?;
        let mut proposal = Proposal {
            overlay,
            touched,
            extra: Batch::new(),
        };
        let effort = validate(self.compiled(), self.id(), &mut proposal)?;
        self.store().count_effort(effort);
        Ok(())
    }

    /// The data of a candidate, as changes over the newest running.
    ///
    /// # Errors
    /// Every conflict with running.
    pub(in crate::tree) fn candidate_over_running(&self) -> Result<Overlay> {
        self.sibling_datastore(Datastore::Running, "")?
            .ensure_indexes()?;
        let snapshot = self.store().driver().snapshot()?;
        let stored = self.stored_candidate(&*snapshot)?;
        let merged = self.merged(&*snapshot, &stored)?;
        refuse_conflicts(&merged.conflicts)?;
        Ok(Overlay::with(snapshot, data_only(&merged, self)))
    }

    /// Empties a candidate in a batch, on condition that it is unchanged.
    fn put_empty(
        &self,
        snapshot: &dyn Snapshot,
        stored: &StoredCandidate,
        batch: &mut Batch,
    ) -> Result<()> {
        batch.require(stored.rows.header(), stored.header_bytes.clone());
        batch.require_all([self.compiled().modules_precondition.clone()]);
        if stored.header_bytes.is_some() {
            let running = self.running_stamp(snapshot)?.version;
            let discarded = stored.header.discarded(running, self.store().now());
            batch.put(stored.rows.header(), discarded.encode());
            batch.delete_range(stored.rows.changes());
        }
        Ok(())
    }

    pub(super) fn check_candidate(&self, message: &str) -> Result<()> {
        if self.datastore().is_candidate() {
            return Ok(());
        }
        let message = format!("{message}; this is {}", self.datastore().name());
        Err(Error::data(ErrorTag::OperationNotSupported, message))
    }
}

/// The changes of data without those of stamps, which the commit writes itself.
fn data_only(merged: &Merged, tree: &Tree) -> Arc<Changes> {
    let stamps = espalier_keyspace::KeyRange::prefix(&tree.id().prefix(Subspace::Stamp));
    let mut changes = Arc::clone(&merged.changes);
    Arc::make_mut(&mut changes).discard_range(&stamps);
    changes
}

fn refuse_conflicts(conflicts: &[Conflict]) -> Result<()> {
    let mut errors = Errors::new();
    for conflict in conflicts {
        errors.push(conflict.to_error());
    }
    Ok(errors.into_result()?)
}
