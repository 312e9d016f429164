//! Rolls back unconfirmed commits.

use std::time::Duration;

use espalier_keyspace::Batch;
use espalier_yang::ErrorTag;

use super::effect::ConfirmEffect;
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::store::Store;
use crate::tree::history::changes_back_to;
use crate::tree::lock::PendingCommit;
use crate::tree::proposal::Proposal;
use crate::tree::{Commit, CommitOptions, Datastore, Tree};

/// The author of automatic rollbacks.
const AUTHOR: &str = "espalier";

impl Store {
    /// Rolls back every confirmed commit whose timeout has passed; returns the running datastores where there was one. A
    /// server must call this periodically. Costs one read of a mostly empty range.
    pub fn expire(&self) -> Result<Vec<Tree>> {
        let mut expired = Vec::new();
        for tree in self.locked_trees()? {
            if tree.expire()? {
                expired.push(tree.sibling_datastore(Datastore::Running, "")?);
            }
        }
        Ok(expired)
    }
}

impl Tree {
    /// Rolls back the confirmed commit of the anchor if its timeout has passed; returns whether it did.
    pub fn expire(&self) -> Result<bool> {
        let running = match self.datastore() {
            Datastore::Running => self.clone(),
            _ => self.sibling_datastore(Datastore::Running, "")?,
        };
        let Some(pending) = running.locks()?.pending else {
            return Ok(false);
        };
        let clock = self.store().clock();
        if pending.is_clock_behind(clock) {
            running.restart_timeout()?;
            return Ok(false);
        }
        let is_due = pending.remaining(clock).is_zero();
        if is_due {
            running.roll_back_pending("a confirmed commit was not confirmed in time")?;
        }
        Ok(is_due)
    }

    /// The time until a confirmed commit is rolled back.
    pub fn remaining(&self, pending: &PendingCommit) -> Duration {
        pending.remaining(self.store().clock())
    }

    /// Restarts the timeout of a confirmed commit if the clock was set back before its start, so that the
    /// timeout can pass in this and later processes.
    fn restart_timeout(&self) -> Result<()> {
        tracing::warn!(
            "the clock is behind the start of a pending confirmed commit: its timeout is restarted"
        );
        self.update_lock_record(&mut |tree, _, lock_record| {
            let clock = tree.store().clock();
            let pending = lock_record.locks.pending.take();
            lock_record.locks.pending =
                pending.map(|pending| match pending.is_clock_behind(clock) {
                    true => pending.restarted(clock),
                    false => pending,
                });
            Ok(())
        })
    }

    /// Restores the state of running before the pending commit, if there still is one.
    pub(in crate::tree) fn roll_back_pending(&self, comment: &str) -> Result<Commit> {
        let options = CommitOptions {
            author: AUTHOR,
            comment,
            ..CommitOptions::default()
        };
        let commit =
            self.propose_and_commit_with(options, ConfirmEffect::Rollback, &|_| {}, &mut |view| {
                let snapshot = view.into_snapshot();
                let restored = match self.lock_record(&*snapshot)?.locks.pending {
                    Some(pending) => changes_back_to(&*snapshot, self.id(), pending.restores)?
                        .ok_or_else(|| {
                            let message = format!(
                                "version {} is no longer kept: cannot roll back to it",
                                pending.restores
                            );
                            Error::data(ErrorTag::RollbackFailed, message)
                        })?,
                    None => Default::default(),
                };
                let mut overlay = Overlay::with(snapshot, std::sync::Arc::new(restored));
                let touched = self.touched_by(&mut overlay)?;
                Ok(Proposal {
                    overlay,
                    touched,
                    extra: Batch::new(),
                })
            })?;
        if !commit.is_changed {
            self.update_lock_record(&mut |_, _, lock_record| {
                lock_record.locks.pending = None;
                Ok(())
            })?;
        }
        Ok(commit)
    }
}
