//! Committing a candidate, with and without confirmation.

use espalier_keyspace::{Batch, ErrorKind};
use espalier_yang::ErrorTag;

use super::plan::Plan;
use crate::error::{Error, Result};
use crate::tree::{Commit, CommitOptions, Datastore, Tree};

/// Seconds to confirm in, where nobody says otherwise (RFC 6241 §8.4.1).
pub const CONFIRM_SECONDS_DEFAULT: u32 = 600;

/// How often a confirmation is tried again when somebody else changed the locks meanwhile.
const CONFIRM_TRIES_MAX: usize = 64;

/// How a commit is to be confirmed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confirmed<'a> {
    /// Seconds to confirm in; none for a commit that needs no confirmation, and confirms the one
    /// that is pending.
    pub timeout: Option<u32>,
    /// Makes the commit outlive its session; whoever gives the same as `persist_id` confirms it.
    pub persist: Option<&'a str>,
    /// Names a pending commit of another session, to confirm or extend it.
    pub persist_id: Option<&'a str>,
}

impl Tree {
    /// Commits the candidate to running, as [`Tree::commit_candidate`], to be confirmed; or, where
    /// a confirmed commit is pending, confirms or extends that with it.
    ///
    /// # Errors
    /// `in-use` where another session's confirmed commit is pending, `invalid-value` where
    /// `persist_id` names none.
    pub fn commit_confirmed(
        &self,
        confirmed: Confirmed<'_>,
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        let plan = Plan::Commit(confirmed);
        let commit = self.commit_planned(plan, options)?;
        if !commit.is_changed {
            // Nothing was written, so the confirmation stands for itself.
            let running = self.beside(Datastore::Running, "")?;
            running.confirm_only(plan, options, commit)?;
        }
        Ok(commit)
    }

    fn confirm_only(
        &self,
        plan: Plan<'_>,
        options: CommitOptions<'_>,
        commit: Commit,
    ) -> Result<()> {
        self.store().driver().catch_up()?;
        let mut tries = 0;
        loop {
            tries += 1;
            let snapshot = self.store().driver().snapshot()?;
            let mut holds = self.holds(&*snapshot)?;
            let before = holds.clone();
            plan.apply(self, &mut holds, options.session, commit.version)?;
            if holds == before {
                return Ok(());
            }
            let mut batch = Batch::new();
            self.put_holds(holds, &mut batch);
            match self.store().driver().commit(batch) {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < CONFIRM_TRIES_MAX => {}
                result => return Ok(result.map(|_| ())?),
            }
        }
    }

    /// Takes back the pending confirmed commit now (RFC 6241 §8.4.4.1).
    ///
    /// # Errors
    /// `operation-failed` where none is pending; `in-use` where it is another session's, and
    /// `invalid-value` where `persist_id` does not name it.
    pub fn cancel_commit(
        &self,
        persist_id: Option<&str>,
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        let running = self.beside(Datastore::Running, "")?;
        let Some(pending) = running.locks()?.pending else {
            let message = "no confirmed commit is pending";
            return Err(Error::data(ErrorTag::OperationFailed, message));
        };
        super::plan::check_owner(&pending, persist_id, options.session)?;
        running.roll_back_pending("the confirmed commit was cancelled")
    }
}
