//! Earlier versions.

use std::sync::Arc;

use espalier_store::{Commit, CommitInfo, NodeChange, Result, Retention, View};
use espalier_yang::Schema;

use super::call::{Call, READ};
use super::{ChangeNote, SessionDatastore};
use crate::access::UserAccess;
use crate::audit::AuditOperation;

impl SessionDatastore {
    /// The commits up to version `from`, newest first.
    ///
    /// # Errors
    /// Those of [`Tree::history`](espalier_store::Tree::history).
    pub fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        self.counted(READ, |_| self.tree.history(from, limit))
    }

    /// The datastore at a version.
    ///
    /// # Errors
    /// Those of [`Tree::at`](espalier_store::Tree::at).
    pub fn at(&self, version: u64) -> Result<View> {
        self.counted(READ, |_| {
            let view = self.tree.at(version)?;
            let access = self
                .service
                .access(&self.session, self.governed(), view.schema())?;
            Ok(view.with_access(access.table().cloned()))
        })
    }

    /// Calls `visit` with each node that differs between two versions, and that the user can read in both.
    ///
    /// # Errors
    /// Those of [`Tree::each_difference`](espalier_store::Tree::each_difference).
    pub fn each_difference(
        &self,
        from: u64,
        to: u64,
        visit: &mut dyn FnMut(&Arc<Schema>, &NodeChange) -> Result<()>,
    ) -> Result<()> {
        self.counted(READ, |_| {
            let mut known: Option<(Arc<Schema>, Arc<UserAccess>)> = None;
            self.tree.each_difference(from, to, &mut |schema, change| {
                let access = match &known {
                    Some((of, access)) if Arc::ptr_eq(of, schema) => Arc::clone(access),
                    _ => self
                        .service
                        .access(&self.session, self.governed(), schema)?,
                };
                let is_shown = access.may_read(&change.path);
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
    /// Those of [`Tree::rollback`](espalier_store::Tree::rollback); `access-denied` for each node that the user may not change.
    pub fn rollback(&self, version: u64, note: ChangeNote<'_>) -> Result<Commit> {
        self.change(Call::new(AuditOperation::Rollback), note, |options| {
            self.tree.rollback(version, options)
        })
    }

    /// How many versions are kept.
    ///
    /// # Errors
    /// Those of the store.
    pub fn retention(&self) -> Result<Retention> {
        self.counted(READ, |_| self.tree.retention())
    }

    /// Sets how many versions are kept.
    ///
    /// # Errors
    /// Those of the store; `access-denied` for a user with restrictions.
    pub fn set_retention(&self, retention: Retention) -> Result<()> {
        self.changed(Call::new(AuditOperation::SetRetention), |_| {
            self.require_unrestricted("retention")?;
            self.tree.set_retention(retention)
        })
    }
}
