//! Reads.

use std::slice;
use std::time::Duration;

use espalier_store::{Locks, PendingCommit, Result, Selection, View};
use espalier_yang::InstancePath;

use super::SessionDatastore;
use super::call::{Call, READ};
use crate::access::may_read;
use crate::audit::AuditOperation;

impl SessionDatastore {
    /// A view of the newest state.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view(&self) -> Result<View> {
        self.counted(READ, |access| {
            Ok(self.tree.view()?.with_access(access.table().cloned()))
        })
    }

    /// As [`Self::view`], for one read: an engine behind a network fetches what it needs in one round trip.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view_for_read(&self, path: &InstancePath, selection: &Selection) -> Result<View> {
        let call = Call::on(AuditOperation::Read, slice::from_ref(path));
        self.counted(call, |access| {
            let view = self.tree.view_for_read(path, selection)?;
            Ok(view.with_access(access.table().cloned()))
        })
    }

    /// The locks, and the pending confirmed commit. Nodes that the user cannot read are left out.
    ///
    /// # Errors
    /// Those of the store.
    pub fn locks(&self) -> Result<Locks> {
        self.counted(READ, |access| {
            let mut locks = self.tree.locks()?;
            if let Some(table) = access.table().filter(|table| !table.reads_all()) {
                for lock in &mut locks.partial {
                    lock.paths
                        .retain(|path| may_read(table, self.schema(), path));
                }
                locks.partial.retain(|lock| !lock.paths.is_empty());
            }
            Ok(locks)
        })
    }

    /// The time within which a pending confirmed commit must be confirmed.
    pub fn remaining(&self, pending: &PendingCommit) -> Duration {
        self.tree.remaining(pending)
    }
}
