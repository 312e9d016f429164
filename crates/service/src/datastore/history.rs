//! Earlier versions.

use std::sync::Arc;

use espalier_store::{Commit, CommitInfo, NodeChange, Result, Retention, View};
use espalier_yang::Schema;

use super::call::{Call, READ};
use super::{ChangeNote, SessionDatastore};
use crate::access::UserAccess;
use crate::audit::AuditOperation;

impl SessionDatastore {
    /// The commits up to version `from`, newest first. A user who cannot read everything sees those with a change that it
    /// can read, and comments only of commits that it can read whole.
    ///
    /// # Errors
    /// Those of [`Tree::history`](espalier_store::Tree::history).
    pub fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        self.counted(READ, |access| {
            if access.table().is_none_or(|table| table.reads_all()) {
                return self.tree.history(from, limit);
            }
            let mut readable = self.readable_changes();
            self.tree.visible_history(from, limit, &mut readable)
        })
    }

    /// Whether the user can read a changed node, by the rules for the schema of its version.
    fn readable_changes(&self) -> impl FnMut(&Arc<Schema>, &NodeChange) -> Result<bool> {
        let mut known: Option<(Arc<Schema>, Arc<UserAccess>)> = None;
        move |schema, change| {
            let access = match &known {
                Some((of, access)) if Arc::ptr_eq(of, schema) => Arc::clone(access),
                _ => self
                    .service
                    .access(&self.session, self.governed(), schema)?,
            };
            let is_readable = access.may_read(&change.path);
            known = Some((Arc::clone(schema), access));
            Ok(is_readable)
        }
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
            let mut is_readable = self.readable_changes();
            self.tree
                .each_difference(
                    from,
                    to,
                    &mut |schema, change| match is_readable(schema, change)? {
                        true => visit(schema, change),
                        false => Ok(()),
                    },
                )
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
