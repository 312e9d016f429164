//! Commits a candidate, with or without confirmation, and cancels a pending confirmed commit.

use espalier_yang::ErrorTag;

use super::effect::ConfirmEffect;
use crate::error::{Error, Result};
use crate::tree::{Commit, CommitOptions, Datastore, Tree};

/// The default confirm timeout in seconds (RFC 6241 §8.4.1).
pub const CONFIRM_SECONDS_DEFAULT: u32 = 600;

/// The confirmation parameters of a commit.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfirmOptions<'a> {
    /// The confirm timeout in seconds; none for a commit that needs no confirmation and confirms the
    /// pending one.
    pub timeout: Option<u32>,
    /// Keeps the commit pending beyond its session; it is then confirmed by passing this value as
    /// `persist_id`.
    pub persist: Option<&'a str>,
    /// The persist value of a pending commit of another session, to confirm or extend it.
    pub persist_id: Option<&'a str>,
}

impl Tree {
    /// Commits the candidate to running, as [`Tree::commit_candidate`], as a confirmed commit; or confirms
    /// or extends the pending one.
    ///
    /// # Errors
    /// `in-use` if a confirmed commit of another session is pending, `invalid-value` if `persist_id`
    /// matches none.
    pub fn commit_confirmed(
        &self,
        confirmed: ConfirmOptions<'_>,
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        let effect = ConfirmEffect::Commit(confirmed);
        let commit = self.commit_candidate_with(effect, options)?;
        if !commit.is_changed {
            // No data was written: the confirmation is a commit of its own.
            let running = self.sibling_datastore(Datastore::Running, "")?;
            running.update_lock_record(&mut |running, _, lock_record| {
                effect.apply(running, lock_record, options.session, commit.version)
            })?;
        }
        Ok(commit)
    }

    /// Cancels the pending confirmed commit (RFC 6241 §8.4.4.1).
    ///
    /// # Errors
    /// `operation-failed` if none is pending; `in-use` if it belongs to another session, and
    /// `invalid-value` if `persist_id` does not match.
    pub fn cancel_commit(
        &self,
        persist_id: Option<&str>,
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        let running = self.sibling_datastore(Datastore::Running, "")?;
        let Some(pending) = running.locks()?.pending else {
            let message = "no confirmed commit is pending";
            return Err(Error::data(ErrorTag::OperationFailed, message));
        };
        super::effect::check_owner(&pending, persist_id, options.session)?;
        running.roll_back_pending("the confirmed commit was cancelled")
    }
}
