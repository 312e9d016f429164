//! A datastore as one session sees it.
//!
//! Every call goes the same way: the rules of the user are looked up, the store is called with them, the session
//! counts the request. Front ends have this handle in place of [`espalier_store::Tree`].

use std::sync::Arc;
use std::time::Duration;

use espalier_store::{
    AccessOperation, Commit, CommitInfo, CommitOptions, ConfirmOptions, Conflict, Datastore, Edit,
    EditReport, Error, ErrorOption, LoadOptions, LoadReport, Locks, NodeChange, PartialLock,
    PendingCommit, Resolution, Result, Retention, Selection, TestOption, Tree, UnknownData,
    UpgradeOptions, UpgradeReport, View,
};
use espalier_yang::data::TreeBuilder;
use espalier_yang::schema::SchemaSource;
use espalier_yang::{DataError, ErrorTag, ErrorType, InstancePath, Schema, Sink};

use crate::access::{UserAccess, hide_denied, may_read};
use crate::service::Service;
use crate::session::Session;

/// The module of the base operations (RFC 6241).
const NETCONF: &str = "ietf-netconf";

/// A datastore of an anchor, for one session.
#[derive(Clone)]
pub struct SessionDatastore {
    service: Service,
    session: Arc<Session>,
    tree: Tree,
}

/// The author and comment of a change, for the history.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeNote<'a> {
    /// The author. An authenticated user cannot name another.
    pub author: &'a str,
    /// The comment.
    pub comment: &'a str,
}

impl SessionDatastore {
    pub(crate) fn new(service: Service, session: Arc<Session>, tree: Tree) -> Self {
        Self {
            service,
            session,
            tree,
        }
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The datastore.
    pub fn datastore(&self) -> Datastore {
        self.tree.datastore()
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        self.tree.schema()
    }

    /// Whether reads may take as long as a round trip over a network.
    pub fn is_remote(&self) -> bool {
        self.tree.store().driver().capability().remote
    }

    /// Another datastore of the same anchor, for the same session.
    ///
    /// # Errors
    /// `invalid-value` for a private candidate of a session without a name.
    pub fn sibling(&self, datastore: Datastore) -> Result<Self> {
        let owner = match datastore {
            Datastore::PrivateCandidate => self.session.owner(),
            _ => "",
        };
        let tree = self.tree.sibling_datastore(datastore, owner)?;
        Ok(Self::new(
            self.service.clone(),
            Arc::clone(&self.session),
            tree,
        ))
    }

    /// What the user may do.
    ///
    /// # Errors
    /// Those of reading the rules; `access-denied` if the session was killed.
    pub fn access(&self) -> Result<Arc<UserAccess>> {
        if self.session.is_killed() {
            let error = DataError::new(ErrorTag::AccessDenied, "the session was killed");
            return Err(error.of_type(ErrorType::Protocol).into());
        }
        self.service.access(&self.session, self.schema())
    }

    /// A view of the newest state.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view(&self) -> Result<View> {
        self.counted(|access| Ok(self.tree.view()?.with_access(access.table().cloned())))
    }

    /// As [`Self::view`], for one read: an engine behind a network fetches what it needs in one round trip.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view_for_read(&self, path: &InstancePath, selection: &Selection) -> Result<View> {
        self.counted(|access| {
            let view = self.tree.view_for_read(path, selection)?;
            Ok(view.with_access(access.table().cloned()))
        })
    }

    /// Applies edits in one commit. `guard` is called with the state that they apply to, as the user sees it.
    ///
    /// # Errors
    /// Those of [`Tree::commit`]; `access-denied` for each node that the user may not change.
    pub fn commit(
        &self,
        edits: &[Edit],
        note: ChangeNote<'_>,
        guard: &dyn Fn(&View) -> Result<()>,
    ) -> Result<Commit> {
        self.change(note, guard, |options| self.tree.commit(edits, options))
    }

    /// `<edit-config>` (RFC 6241 §7.2).
    ///
    /// # Errors
    /// Those of [`Tree::edit_config`]; `access-denied`.
    pub fn edit_config(
        &self,
        edits: &[Edit],
        test: TestOption,
        error: ErrorOption,
        note: ChangeNote<'_>,
    ) -> Result<EditReport> {
        self.require_operation("edit-config")?;
        self.change(note, &|_| Ok(()), |options| {
            self.tree.edit_config(edits, test, error, options)
        })
    }

    /// Loads a document in one commit; `options` has what is not of the session.
    ///
    /// # Errors
    /// Those of [`Tree::load`]; `access-denied`.
    pub fn load(
        &self,
        options: LoadOptions<'_>,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadReport> {
        self.changed(|access| {
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
            self.tree.load(options, document)
        })
    }

    /// `<commit>` (RFC 6241 §8.3.4.1, §8.4), of a candidate.
    ///
    /// # Errors
    /// Those of [`Tree::commit_confirmed`]; `access-denied`.
    pub fn commit_candidate(
        &self,
        confirm: ConfirmOptions<'_>,
        note: ChangeNote<'_>,
    ) -> Result<Commit> {
        self.require_operation("commit")?;
        self.change(note, &|_| Ok(()), |options| {
            self.tree.commit_confirmed(confirm, options)
        })
    }

    /// `<cancel-commit>` (RFC 6241 §8.4.4.1).
    ///
    /// # Errors
    /// Those of [`Tree::cancel_commit`]; `access-denied` for the operation.
    pub fn cancel_commit(&self, persist_id: Option<&str>, note: ChangeNote<'_>) -> Result<Commit> {
        self.require_operation("cancel-commit")?;
        // The server restores what was there before: the rules on data do not apply.
        self.unrestricted(note, |options| self.tree.cancel_commit(persist_id, options))
    }

    /// `<discard-changes>` (RFC 6241 §8.3.4.2).
    ///
    /// # Errors
    /// Those of [`Tree::discard`]; `access-denied` for the operation.
    pub fn discard_changes(&self, note: ChangeNote<'_>) -> Result<()> {
        self.require_operation("discard-changes")?;
        self.unrestricted(note, |options| self.tree.discard(options))
    }

    /// Rebases a candidate on the newest running.
    ///
    /// # Errors
    /// Those of [`Tree::update`].
    pub fn update(&self, resolution: Resolution, note: ChangeNote<'_>) -> Result<Vec<Conflict>> {
        let mut conflicts =
            self.unrestricted(note, |options| self.tree.update(resolution, options))?;
        let access = self.access()?;
        if let Some(table) = access.table() {
            conflicts.retain(|conflict| may_read(table, self.schema(), &conflict.path));
        }
        Ok(conflicts)
    }

    /// `<validate>` (RFC 6241 §8.6.4.1).
    ///
    /// # Errors
    /// Every violated constraint; `access-denied` for the operation.
    pub fn validate(&self) -> Result<()> {
        self.require_operation("validate")?;
        self.counted(|_| self.tree.validate())
    }

    /// `<lock>` (RFC 6241 §7.5).
    ///
    /// # Errors
    /// Those of [`Tree::lock`]; `access-denied` for the operation.
    pub fn lock(&self) -> Result<()> {
        self.require_operation("lock")?;
        self.counted(|_| self.tree.lock(self.session.owner()).map(drop))
    }

    /// `<unlock>` (RFC 6241 §7.6).
    ///
    /// # Errors
    /// Those of [`Tree::unlock`]; `access-denied` for the operation.
    pub fn unlock(&self) -> Result<()> {
        self.require_operation("unlock")?;
        self.counted(|_| self.tree.unlock(self.session.owner()))
    }

    /// `<partial-lock>` (RFC 5717 §2.4.1). The user must be able to read every node (§2.4.1.1).
    ///
    /// # Errors
    /// Those of [`Tree::partial_lock`]; `access-denied`.
    pub fn partial_lock(&self, paths: &[InstancePath]) -> Result<PartialLock> {
        self.require("ietf-netconf-partial-lock", "partial-lock")?;
        self.counted(|access| {
            for path in paths {
                let is_shown = access
                    .table()
                    .is_none_or(|table| table.allows(AccessOperation::Read, path));
                if !is_shown {
                    return Err(Error::data(ErrorTag::AccessDenied, "access denied: read"));
                }
            }
            self.tree.partial_lock(paths, self.session.owner())
        })
    }

    /// `<partial-unlock>` (RFC 5717 §2.4.2).
    ///
    /// # Errors
    /// Those of [`Tree::partial_unlock`]; `access-denied` for the operation.
    pub fn partial_unlock(&self, id: u32) -> Result<()> {
        self.require("ietf-netconf-partial-lock", "partial-unlock")?;
        self.counted(|_| self.tree.partial_unlock(id, self.session.owner()))
    }

    /// The locks, and the pending confirmed commit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn locks(&self) -> Result<Locks> {
        self.counted(|_| self.tree.locks())
    }

    /// Releases the lock of another session (RFC 6241 §7.9 does so by ending the session: the same permission).
    ///
    /// # Errors
    /// Those of [`Tree::break_lock`]; `access-denied` for `kill-session`.
    pub fn break_lock(&self) -> Result<()> {
        self.require_operation("kill-session")?;
        self.counted(|_| self.tree.break_lock())
    }

    /// As [`Self::break_lock`], for a partial lock.
    ///
    /// # Errors
    /// Those of [`Tree::break_partial_lock`]; `access-denied` for `kill-session`.
    pub fn break_partial_lock(&self, id: u32) -> Result<()> {
        self.require_operation("kill-session")?;
        self.counted(|_| self.tree.break_partial_lock(id))
    }

    /// The time within which a pending confirmed commit must be confirmed.
    pub fn remaining(&self, pending: &PendingCommit) -> Duration {
        self.tree.remaining(pending)
    }

    /// Releases the locks of the session, discards its private candidate, and rolls back its confirmed commit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn end(&self) -> Result<()> {
        self.changed(|_| self.tree.store().end_session(self.session.owner()))?;
        self.service.sessions().close(self.session.id());
        Ok(())
    }

    /// `<copy-config>` to this datastore (RFC 6241 §7.3). What the user cannot read of the source is left out (RFC
    /// 8341 §3.2.6), except from running to startup.
    ///
    /// # Errors
    /// Those of [`Tree::copy_from`]; `access-denied`.
    pub fn copy_from(&self, source: &Self, note: ChangeNote<'_>) -> Result<Commit> {
        self.require_operation("copy-config")?;
        let to_startup = (source.datastore(), self.datastore());
        if to_startup == (Datastore::Running, Datastore::Startup) {
            return self.unrestricted(note, |options| self.tree.copy_from(&source.tree, options));
        }
        let view = source.view()?;
        if view.shows_all(&InstancePath::root()) {
            return self.change(note, &|_| Ok(()), |options| {
                self.tree.copy_from(&source.tree, options)
            });
        }
        let mut builder = TreeBuilder::new();
        view.read(&InstancePath::root(), &Selection::default(), &mut builder)?;
        let edits = [Edit::replace_all(builder.finish()?)];
        self.commit(&edits, note, &|_| Ok(()))
    }

    /// `<delete-config>` (RFC 6241 §7.4).
    ///
    /// # Errors
    /// Those of [`Tree::delete_datastore`]; `access-denied`.
    pub fn delete(&self, note: ChangeNote<'_>) -> Result<Commit> {
        self.require_operation("delete-config")?;
        self.change(note, &|_| Ok(()), |options| {
            self.tree.delete_datastore(options)
        })
    }

    /// The commits up to version `from`, newest first.
    ///
    /// # Errors
    /// Those of [`Tree::history`].
    pub fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        self.counted(|_| self.tree.history(from, limit))
    }

    /// The datastore at a version.
    ///
    /// # Errors
    /// Those of [`Tree::at`].
    pub fn at(&self, version: u64) -> Result<View> {
        self.counted(|_| {
            let view = self.tree.at(version)?;
            let access = self.service.access(&self.session, view.schema())?;
            Ok(view.with_access(access.table().cloned()))
        })
    }

    /// Calls `visit` with each node that differs between two versions, and that the user can read in both.
    ///
    /// # Errors
    /// Those of [`Tree::each_difference`].
    pub fn each_difference(
        &self,
        from: u64,
        to: u64,
        visit: &mut dyn FnMut(&Arc<Schema>, &NodeChange) -> Result<()>,
    ) -> Result<()> {
        self.counted(|_| {
            let mut known: Option<(Arc<Schema>, Arc<UserAccess>)> = None;
            self.tree.each_difference(from, to, &mut |schema, change| {
                let access = match &known {
                    Some((of, access)) if Arc::ptr_eq(of, schema) => Arc::clone(access),
                    _ => self.service.access(&self.session, schema)?,
                };
                let is_shown = access
                    .table()
                    .is_none_or(|table| table.allows(AccessOperation::Read, &change.path));
                known = Some((Arc::clone(schema), access));
                match is_shown {
                    true => visit(schema, change),
                    false => Ok(()),
                }
            })
        })
    }

    /// Restores a version, in a new commit.
    ///
    /// # Errors
    /// Those of [`Tree::rollback`]; `access-denied` for each node that the user may not change.
    pub fn rollback(&self, version: u64, note: ChangeNote<'_>) -> Result<Commit> {
        self.change(note, &|_| Ok(()), |options| {
            self.tree.rollback(version, options)
        })
    }

    /// How many versions are kept.
    ///
    /// # Errors
    /// Those of the store.
    pub fn retention(&self) -> Result<Retention> {
        self.counted(|_| self.tree.retention())
    }

    /// Sets how many versions are kept.
    ///
    /// # Errors
    /// Those of the store; `access-denied` for a user with restrictions.
    pub fn set_retention(&self, retention: Retention) -> Result<()> {
        self.require_unrestricted("retention")?;
        self.changed(|_| self.tree.set_retention(retention))
    }

    /// Replaces the modules, or with `is_trial` reports what would happen.
    ///
    /// # Errors
    /// Those of [`Store::upgrade_schema_set`](espalier_store::Store::upgrade_schema_set); `access-denied` for a user
    /// with restrictions.
    pub fn upgrade(
        &self,
        source: &SchemaSource,
        unknown: UnknownData,
        is_trial: bool,
        note: ChangeNote<'_>,
    ) -> Result<UpgradeReport> {
        self.require_unrestricted("upgrade")?;
        self.changed(|_| {
            let author = self.author(note.author);
            let options = UpgradeOptions {
                unknown,
                author: &author,
                comment: note.comment,
                session: self.session.owner(),
                structure_only_anchor: None,
            };
            let store = self.tree.store();
            let (dataspace, set) = store.schema_set_of(&self.tree)?;
            match is_trial {
                true => store.check_upgrade(&dataspace, &set, source, options, None),
                false => store.upgrade_schema_set(&dataspace, &set, source, options),
            }
        })
    }

    /// Requires that no rule restricts the user: for operations that concern all data.
    fn require_unrestricted(&self, name: &str) -> Result<()> {
        let access = self.access()?;
        let is_unrestricted = access
            .table()
            .is_none_or(|table| table.reads_all() && table.writes_all());
        match is_unrestricted {
            true => Ok(()),
            false => Err(self.denied_operation(name)),
        }
    }

    fn denied_operation(&self, name: &str) -> Error {
        self.service.count_denied_operation();
        let message = format!("access denied: {name}");
        let error = DataError::new(ErrorTag::AccessDenied, message);
        error.of_type(ErrorType::Protocol).into()
    }

    /// Requires that the user may invoke a base operation (RFC 8341 §3.4.4).
    fn require_operation(&self, name: &str) -> Result<()> {
        self.require(NETCONF, name)
    }

    fn require(&self, module: &str, name: &str) -> Result<()> {
        let access = self.access()?;
        let schema = self.schema();
        let id = schema.module_by_name(module);
        let node = id.and_then(|module| schema.child(None, module, name));
        match access.may_invoke(schema, module, name, node) {
            true => Ok(()),
            false => Err(self.denied_operation(name)),
        }
    }

    fn change<T>(
        &self,
        note: ChangeNote<'_>,
        guard: &dyn Fn(&View) -> Result<()>,
        run: impl FnOnce(CommitOptions<'_>) -> Result<T>,
    ) -> Result<T> {
        self.changed(|access| {
            let author = self.author(note.author);
            let options = CommitOptions {
                author: &author,
                comment: note.comment,
                session: self.session.owner(),
                guard: Some(guard),
                access: access.table(),
                ..CommitOptions::default()
            };
            run(options)
        })
    }

    /// A change that the rules on data do not apply to.
    fn unrestricted<T>(
        &self,
        note: ChangeNote<'_>,
        run: impl FnOnce(CommitOptions<'_>) -> Result<T>,
    ) -> Result<T> {
        self.changed(|_| {
            let author = self.author(note.author);
            let options = CommitOptions {
                author: &author,
                comment: note.comment,
                session: self.session.owner(),
                ..CommitOptions::default()
            };
            run(options)
        })
    }

    /// The author of a change: the user, or what the request says if there is none.
    fn author(&self, written: &str) -> String {
        let user = &self.session.caller().user;
        match user.is_empty() {
            true => written.to_owned(),
            false => user.clone(),
        }
    }

    /// Runs a call, and counts it.
    fn counted<T>(&self, run: impl FnOnce(&UserAccess) -> Result<T>) -> Result<T> {
        let result = self.access().and_then(|access| {
            run(&access).map_err(|error| match (error, access.table()) {
                (Error::Data(errors), Some(table)) => {
                    Error::Data(hide_denied(table, self.schema(), errors))
                }
                (error, _) => error,
            })
        });
        let now = self.tree.store().now();
        self.session.record_request(now, result.is_err());
        result
    }

    /// As [`Self::counted`], for a change.
    fn changed<T>(&self, run: impl FnOnce(&UserAccess) -> Result<T>) -> Result<T> {
        let result = self.counted(run);
        self.service.record_change(&self.tree, &result);
        result
    }
}
