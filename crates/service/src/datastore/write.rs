//! Edits, loads and copies.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{Prefetch, PrefetchList};
use espalier_store::{
    BegunCommit, Commit, CommitOptions, CommitRun, Datastore, Edit, EditReport, ErrorOption, Guard,
    LoadOptions, LoadReport, Result, Selection, TestOption,
};
use espalier_yang::data::TreeBuilder;
use espalier_yang::{InstancePath, Sink};

use super::call::Call;
use super::{ChangeNote, SessionDatastore};
use crate::access::UserAccess;
use crate::audit::AuditOperation;
use crate::identity::{PasswordHasher, PasswordHashing};

/// A change that is decided, and may not be written yet.
#[must_use = "the change is made, but nobody learns the outcome"]
pub struct BegunChange {
    commit: BegunCommit,
    /// The rules that it was decided with.
    access: Arc<UserAccess>,
}

impl SessionDatastore {
    /// Applies edits in one commit. A guard is called with the state that they apply to, as the user sees it.
    ///
    /// # Errors
    /// Those of [`Tree::commit`](espalier_store::Tree::commit); `access-denied` for each node that the user may not change.
    pub fn commit(
        &self,
        edits: &[Edit],
        note: ChangeNote<'_>,
        guard: Option<Guard<'_>>,
    ) -> Result<Commit> {
        self.change(Call::edit(edits), note, |options| {
            let edits = self.with_hashed_passwords(edits)?;
            self.tree.commit(&edits, CommitOptions { guard, ..options })
        })
    }

    /// Begins [`Self::commit`]; see [`Tree::begin_commit`](espalier_store::Tree::begin_commit). `None` if it cannot be
    /// begun, or would fail.
    pub fn begin_commit(
        &self,
        edits: &[Edit],
        note: ChangeNote<'_>,
        guard: Option<Guard<'_>>,
        run: Option<&CommitRun>,
    ) -> Option<BegunChange> {
        let access = self.access().ok()?;
        self.require_change().ok()?;
        let edits = self.with_hashed_passwords(edits).ok()?;
        let author = self.author(note.author);
        let options = CommitOptions {
            access: access.table(),
            guard,
            ..self.commit_options(&author, note)
        };
        let commit = self.tree.begin_commit(&edits, options, run)?;
        Some(BegunChange { commit, access })
    }

    /// Begins a run of commits; see [`Tree::begin_run`](espalier_store::Tree::begin_run).
    pub fn begin_run(&self, commits: usize, expect: Prefetch<'_>) -> Option<CommitRun> {
        self.tree.begin_run(commits, expect)
    }

    /// Lists what a commit of edits will read, for [`Self::begin_run`].
    pub fn expect_reads(&self, edits: &[Edit], expected: &mut PrefetchList) {
        self.tree.expect_reads(edits, expected);
    }

    /// Waits until a commit of the same edits is written that this thread began. `None` if it has to be made by
    /// [`Self::commit`].
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub fn finish_commit(&self, edits: &[Edit], begun: BegunChange) -> Result<Option<Commit>> {
        let BegunChange { commit, access } = begun;
        let Some(result) = self.tree.finish_commit(commit).transpose() else {
            return Ok(None);
        };
        // The rules, and the session, are those with which it was decided.
        self.finished(Call::edit(edits), &access, result).map(Some)
    }

    /// `<edit-config>` (RFC 6241 §7.2).
    ///
    /// # Errors
    /// Those of [`Tree::edit_config`](espalier_store::Tree::edit_config); `access-denied`.
    pub fn edit_config(
        &self,
        edits: &[Edit],
        test: TestOption,
        error: ErrorOption,
        note: ChangeNote<'_>,
    ) -> Result<EditReport> {
        self.change(Call::edit(edits), note, |options| {
            self.require_operation("edit-config")?;
            let edits = self.with_hashed_passwords(edits)?;
            self.tree.edit_config(&edits, test, error, options)
        })
    }

    /// Loads a document in one commit; `options` has what is not of the session.
    ///
    /// # Errors
    /// Those of [`Tree::load`](espalier_store::Tree::load); `access-denied`.
    pub fn load(
        &self,
        options: LoadOptions<'_>,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadReport> {
        self.changed(Call::new(AuditOperation::Load), |access| {
            let author = self.author(options.author);
            let mut progress = options.progress;
            let mut report = |fragments| {
                if let Some(progress) = &mut progress {
                    progress(fragments);
                }
            };
            let options = LoadOptions {
                mode: options.mode,
                author: &author,
                comment: options.comment,
                session: self.session.owner(),
                guard: options.guard,
                access: access.table(),
                origin: options.origin,
                progress: Some(&mut report),
            };
            self.tree.load(options, &mut |sink| {
                let mut hashing = PasswordHashing::new(self.schema(), sink);
                document(&mut hashing)?;
                hashing.finish()?;
                Ok(())
            })
        })
    }

    /// The edits with hashes for the passwords of `ietf-system` in clear text (RFC 7317 §3.3).
    fn with_hashed_passwords<'e>(&self, edits: &'e [Edit]) -> Result<Cow<'e, [Edit]>> {
        let Some(passwords) = PasswordHasher::new(self.schema()) else {
            return Ok(Cow::Borrowed(edits));
        };
        let mut edits = edits.to_vec();
        let data = edits.iter_mut().filter_map(Edit::data_mut);
        passwords.hash_all(data.flat_map(|tree| &mut tree.nodes))?;
        Ok(Cow::Owned(edits))
    }

    /// `<copy-config>` to this datastore (RFC 6241 §7.3). What the user cannot read of the source is left out (RFC
    /// 8341 §3.2.6), except from running to startup.
    ///
    /// # Errors
    /// Those of [`Tree::copy_from`](espalier_store::Tree::copy_from); `access-denied`.
    pub fn copy_from(&self, source: &Self, note: ChangeNote<'_>) -> Result<Commit> {
        let call = Call::new(AuditOperation::Copy);
        let to_startup = (source.datastore(), self.datastore());
        if to_startup == (Datastore::Running, Datastore::Startup) {
            return self.unrestricted(call, note, |options| {
                self.require_operation("copy-config")?;
                self.tree.copy_from(&source.tree, options)
            });
        }
        self.change(call, note, |options| {
            self.require_operation("copy-config")?;
            let view = source.view()?;
            if view.shows_all(&InstancePath::root()) {
                return self.tree.copy_from(&source.tree, options);
            }
            let mut builder = TreeBuilder::new();
            view.read(&InstancePath::root(), &Selection::default(), &mut builder)?;
            let edits = [Edit::replace_all(builder.finish()?)];
            self.tree.commit(&edits, options)
        })
    }

    /// `<factory-reset>` (RFC 8808 §3): factory-default is copied to running and startup, and the candidate is discarded.
    /// Running, whose constraints can refuse it, comes first.
    ///
    /// # Errors
    /// Those of [`Tree::copy_from`](espalier_store::Tree::copy_from).
    pub(crate) fn factory_reset(&self) -> Result<()> {
        let note = ChangeNote {
            author: "",
            comment: "factory-reset",
        };
        let source = self.sibling(Datastore::FactoryDefault)?;
        for target in [Datastore::Running, Datastore::Startup] {
            let target = self.sibling(target)?;
            let call = Call::new(AuditOperation::Copy);
            target.unrestricted(call, note, |options| {
                target.tree.copy_from(&source.tree, options)
            })?;
        }
        // The shared one, also if that of the session is its own.
        let candidate = self.of_tree(self.tree.sibling_datastore(Datastore::Candidate, "")?);
        let call = Call::new(AuditOperation::Discard);
        candidate.unrestricted(call, note, |options| candidate.tree.discard(options))
    }

    /// `<delete-config>` (RFC 6241 §7.4).
    ///
    /// # Errors
    /// Those of [`Tree::delete_datastore`](espalier_store::Tree::delete_datastore); `access-denied`.
    pub fn delete(&self, note: ChangeNote<'_>) -> Result<Commit> {
        self.change(Call::new(AuditOperation::Delete), note, |options| {
            self.require_operation("delete-config")?;
            self.tree.delete_datastore(options)
        })
    }
}
