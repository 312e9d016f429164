//! Rolling back what was not confirmed.

use espalier_keyspace::Batch;
use espalier_yang::ErrorTag;

use super::plan::Plan;
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::store::Store;
use crate::tree::history::changes_back_to;
use crate::tree::settle::Proposal;
use crate::tree::{Commit, CommitOptions, Datastore, Tree};

/// The author of rollbacks that nobody asked for.
const AUTHOR: &str = "espalier";

impl Store {
    /// Rolls back every confirmed commit whose time has passed; how many there were. To be called
    /// now and then by whoever serves a store. Costs one read of a mostly empty range.
    pub fn expire(&self) -> Result<usize> {
        let mut count = 0;
        for tree in self.held_trees()? {
            count += usize::from(tree.expire()?);
        }
        Ok(count)
    }
}

impl Tree {
    /// Rolls back the confirmed commit of the anchor if its time has passed; whether it had.
    pub fn expire(&self) -> Result<bool> {
        let running = match self.datastore() {
            Datastore::Running => self.clone(),
            _ => self.beside(Datastore::Running, "")?,
        };
        let pending = running.locks()?.pending;
        let is_due = pending.is_some_and(|pending| pending.deadline <= self.store().now());
        if is_due {
            running.roll_back_pending("a confirmed commit was not confirmed in time")?;
        }
        Ok(is_due)
    }

    /// Restores what running was before the pending commit, if one still is.
    pub(in crate::tree) fn roll_back_pending(&self, comment: &str) -> Result<Commit> {
        let options = CommitOptions {
            author: AUTHOR,
            comment,
            ..CommitOptions::default()
        };
        let commit = self.settle_planned(options, Plan::Rollback, &|_| {}, &mut |view| {
            let snapshot = view.into_snapshot();
            let restored = match self.holds(&*snapshot)?.locks.pending {
                Some(pending) => changes_back_to(&*snapshot, self.id(), pending.restores)?
                    .ok_or_else(|| {
                        let message = format!(
                            "version {}, to roll back to, is no longer kept",
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
                beside: Batch::new(),
            })
        })?;
        if !commit.is_changed {
            self.change_holds(&mut |_, _, holds| {
                holds.locks.pending = None;
                Ok(())
            })?;
        }
        Ok(commit)
    }
}
