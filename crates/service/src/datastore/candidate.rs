//! Candidates: commit, confirm, cancel, discard, update, validate.

use std::time::Duration;

use espalier_store::{
    Commit, CommitOptions, ConfirmOptions, Conflict, Datastore, Edit, Resolution, Result,
};
use espalier_yang::data::DataTree;

use super::call::Call;
use super::{ChangeNote, SessionDatastore};
use crate::access::may_read;
use crate::audit::AuditOperation;
use crate::notifications::ConfirmEvent;

impl SessionDatastore {
    /// `<commit>` (RFC 6241 §8.3.4.1, §8.4), of a candidate.
    ///
    /// # Errors
    /// Those of [`Tree::commit_confirmed`](espalier_store::Tree::commit_confirmed); `access-denied`.
    pub fn commit_candidate(
        &self,
        confirm: ConfirmOptions<'_>,
        note: ChangeNote<'_>,
    ) -> Result<Commit> {
        let was_pending = self.notifies_of_confirmed_commits()? && self.has_pending_commit()?;
        let commit = self.change(Call::new(AuditOperation::Commit), note, |options| {
            self.require_operation("commit")?;
            self.tree.commit_confirmed(confirm, options)
        })?;
        let timeout = confirm
            .timeout
            .map(|seconds| Duration::from_secs(seconds.into()));
        match (timeout, was_pending) {
            (None, false) => {}
            (None, true) => self.notify_confirmed_commit(ConfirmEvent::Complete),
            (Some(timeout), false) => self.notify_confirmed_commit(ConfirmEvent::Start(timeout)),
            (Some(timeout), true) => self.notify_confirmed_commit(ConfirmEvent::Extend(timeout)),
        }
        Ok(commit)
    }

    fn has_pending_commit(&self) -> Result<bool> {
        let running = self.tree.sibling_datastore(Datastore::Running, "")?;
        Ok(running.locks()?.pending.is_some())
    }

    /// `<cancel-commit>` (RFC 6241 §8.4.4.1).
    ///
    /// # Errors
    /// Those of [`Tree::cancel_commit`](espalier_store::Tree::cancel_commit); `access-denied` for the operation.
    pub fn cancel_commit(&self, persist_id: Option<&str>, note: ChangeNote<'_>) -> Result<Commit> {
        // The server restores what was there before: the rules on data do not apply.
        let commit = self.unrestricted(Call::new(AuditOperation::Cancel), note, |options| {
            self.require_operation("cancel-commit")?;
            self.tree.cancel_commit(persist_id, options)
        })?;
        self.notify_confirmed_commit(ConfirmEvent::Cancel);
        Ok(commit)
    }

    /// `<discard-changes>` (RFC 6241 §8.3.4.2).
    ///
    /// # Errors
    /// Those of [`Tree::discard`](espalier_store::Tree::discard); `access-denied` for the operation.
    pub fn discard_changes(&self, note: ChangeNote<'_>) -> Result<()> {
        self.unrestricted(Call::new(AuditOperation::Discard), note, |options| {
            self.require_operation("discard-changes")?;
            self.tree.discard(options)
        })
    }

    /// Rebases a candidate on the newest running.
    ///
    /// # Errors
    /// Those of [`Tree::update`](espalier_store::Tree::update).
    pub fn update(&self, resolution: Resolution, note: ChangeNote<'_>) -> Result<Vec<Conflict>> {
        let call = Call::new(AuditOperation::Update);
        let mut conflicts = self.unrestricted(call, note, |options| {
            // The shared candidate has the changes of others, which can be hidden from the user.
            if self.datastore() == Datastore::Candidate {
                self.require_unrestricted("update")?;
            }
            self.tree.update(resolution, options)
        })?;
        let access = self.access()?;
        if let Some(table) = access.table() {
            conflicts.retain(|conflict| may_read(table, self.schema(), &conflict.path));
        }
        Ok(conflicts)
    }

    /// `<validate>` of a document (RFC 6241 §8.6.4.1): whether this datastore could have this content.
    ///
    /// # Errors
    /// Every violated constraint; `access-denied` for the operation.
    pub fn validate_content(&self, content: DataTree) -> Result<()> {
        self.counted(Call::new(AuditOperation::Validate), |_| {
            self.require_operation("validate")?;
            let edits = [Edit::replace_all(content)];
            self.tree.test(&edits, CommitOptions::default())
        })
    }

    /// `<validate>` (RFC 6241 §8.6.4.1).
    ///
    /// # Errors
    /// Every violated constraint; `access-denied` for the operation.
    pub fn validate(&self) -> Result<()> {
        self.counted(Call::new(AuditOperation::Validate), |_| {
            self.require_operation("validate")?;
            self.tree.validate()
        })
    }
}
