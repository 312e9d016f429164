//! Checks whether a session may write.

use espalier_keyspace::{Batch, KeyRange, Snapshot};
use espalier_yang::{DataError, ErrorTag, Errors};

use super::record::{Lock, LockRecord, PartialLock};
use crate::error::{Error, Result};
use crate::overlay::{Changes, Overlay};
use crate::subspace::Subspace;
use crate::tree::Tree;
use crate::tree::confirm::ConfirmEffect;

/// No version must be kept for a rollback.
pub(in crate::tree) const NONE_PINNED: u64 = u64::MAX;

impl Tree {
    /// Requires that no other session has locked the whole datastore, now and when the batch is committed.
    pub(in crate::tree) fn require_unlocked(
        &self,
        snapshot: &dyn Snapshot,
        session: &str,
        batch: &mut Batch,
    ) -> Result<LockRecord> {
        let lock_record = self.lock_record(snapshot)?;
        if let Some(lock) = &lock_record.locks.lock
            && !owns(&lock.session, session)
        {
            return Err(self.in_use(lock));
        }
        batch.require(self.lock_key(), lock_record.stored.clone());
        Ok(lock_record)
    }

    /// Checks the locks for a commit of an overlay, and updates the pending confirmed commit. Returns the
    /// oldest version that history must keep, or [`NONE_PINNED`].
    pub(in crate::tree) fn authorise(
        &self,
        overlay: &Overlay,
        session: &str,
        effect: ConfirmEffect<'_>,
        batch: &mut Batch,
    ) -> Result<u64> {
        let base = overlay.base();
        if matches!(effect, ConfirmEffect::Rollback) {
            let mut lock_record = self.lock_record(base)?;
            effect.apply(self, &mut lock_record, session, 0)?;
            self.put_lock_record(lock_record, batch);
            return Ok(NONE_PINNED);
        }
        let mut lock_record = self.require_unlocked(base, session, batch)?;
        if lock_record.stored.is_none() && matches!(effect, ConfirmEffect::Edit) {
            return Ok(NONE_PINNED);
        }
        self.require_no_partial_lock(&lock_record, overlay.changes(), session)?;
        let before = lock_record.locks.pending.clone();
        let last = self.running_stamp(base)?.version;
        effect.apply(self, &mut lock_record, session, last)?;
        let pending = lock_record.locks.pending.as_ref();
        let pinned = pending.map_or(NONE_PINNED, |pending| pending.restores);
        if lock_record.locks.pending != before {
            self.put_lock_record(lock_record, batch);
        }
        Ok(pinned)
    }

    /// As [`Self::authorise`], for a load, which may touch everything.
    pub(in crate::tree) fn authorise_load(
        &self,
        base: &dyn Snapshot,
        session: &str,
        batch: &mut Batch,
    ) -> Result<()> {
        let mut lock_record = self.require_unlocked(base, session, batch)?;
        let mut all = Changes::default();
        all.delete_range(&KeyRange::prefix(&self.tree_key()));
        self.require_no_partial_lock(&lock_record, &all, session)?;
        let before = lock_record.locks.pending.clone();
        ConfirmEffect::Edit.apply(self, &mut lock_record, session, 0)?;
        if lock_record.locks.pending != before {
            self.put_lock_record(lock_record, batch);
        }
        Ok(())
    }

    /// Requires that changes touch nothing that another session has partially locked.
    pub(in crate::tree) fn require_no_partial_lock(
        &self,
        lock_record: &LockRecord,
        changes: &Changes,
        session: &str,
    ) -> Result<()> {
        let mut errors = Errors::new();
        for partial in &lock_record.locks.partial {
            if owns(&partial.session, session) {
                continue;
            }
            for (path, key) in partial.paths.iter().zip(&partial.keys) {
                if self.touches(changes, key) {
                    errors.push(partial_in_use(partial, path));
                }
            }
        }
        Ok(errors.into_result()?)
    }

    /// Whether changes touch a node or its content, or delete an ancestor.
    fn touches(&self, changes: &Changes, key: &[u8]) -> bool {
        [Subspace::Tree, Subspace::Order].into_iter().any(|place| {
            let range = KeyRange::prefix(&[&self.id().prefix(place), key].concat());
            changes.writes_in(&range) || !changes.cleared_in(&range).is_empty()
        })
    }

    fn in_use(&self, lock: &Lock) -> Error {
        let message = format!(
            "{} is locked by session “{}”; wait for it, or break the lock with “espalier unlock --force”",
            self.datastore().name(),
            lock.session
        );
        Error::data(ErrorTag::InUse, message)
    }
}

/// Whether a lock belongs to a session. The empty session owns nothing.
pub(super) fn owns(holder: &str, session: &str) -> bool {
    !session.is_empty() && holder == session
}

fn partial_in_use(partial: &PartialLock, path: &str) -> DataError {
    let message = format!(
        "the node is in the partial lock {} of session “{}”; wait for it, or break the lock with “espalier unlock --force --id {}”",
        partial.id, partial.session, partial.id
    );
    DataError::new(ErrorTag::InUse, message).at(path)
}
