//! Locks, and the end of a session.

use espalier_store::{Datastore, Error, PartialLock, Result};
use espalier_yang::{DataError, ErrorTag, ErrorType, InstancePath};

use super::SessionDatastore;
use super::call::Call;
use crate::audit::AuditOperation;
use crate::session::{SessionId, TerminationReason};

/// The module of partial locks (RFC 5717).
const PARTIAL_LOCK: &str = "ietf-netconf-partial-lock";

impl SessionDatastore {
    /// `<lock>` (RFC 6241 §7.5).
    ///
    /// # Errors
    /// Those of [`Tree::lock`](espalier_store::Tree::lock); `access-denied` for the operation.
    pub fn lock(&self) -> Result<()> {
        self.counted(Call::new(AuditOperation::Lock), |_| {
            self.require_operation("lock")?;
            // Nobody else can change it.
            if self.is_own_candidate() {
                return Ok(());
            }
            self.tree.lock(self.session.owner()).map(drop)
        })
    }

    /// `<unlock>` (RFC 6241 §7.6).
    ///
    /// # Errors
    /// Those of [`Tree::unlock`](espalier_store::Tree::unlock); `access-denied` for the operation.
    pub fn unlock(&self) -> Result<()> {
        self.counted(Call::new(AuditOperation::Unlock), |_| {
            self.require_operation("unlock")?;
            if self.is_own_candidate() {
                return Ok(());
            }
            self.tree.unlock(self.session.owner())
        })
    }

    /// Whether this is the candidate of a session that has no other one.
    fn is_own_candidate(&self) -> bool {
        self.datastore() == Datastore::PrivateCandidate && self.session.has_private_candidate()
    }

    /// `<partial-lock>` (RFC 5717 §2.4.1). The user must be able to read every node (§2.4.1.1).
    ///
    /// # Errors
    /// Those of [`Tree::partial_lock`](espalier_store::Tree::partial_lock); `access-denied`.
    pub fn partial_lock(&self, paths: &[InstancePath]) -> Result<PartialLock> {
        self.counted(Call::on(AuditOperation::Lock, paths), |access| {
            self.require(PARTIAL_LOCK, "partial-lock")?;
            if !paths.iter().all(|path| access.may_read(path)) {
                return Err(Error::data(ErrorTag::AccessDenied, "access denied: read"));
            }
            self.tree.partial_lock(paths, self.session.owner())
        })
    }

    /// `<partial-unlock>` (RFC 5717 §2.4.2).
    ///
    /// # Errors
    /// Those of [`Tree::partial_unlock`](espalier_store::Tree::partial_unlock); `access-denied` for the operation.
    pub fn partial_unlock(&self, id: u32) -> Result<()> {
        self.counted(Call::new(AuditOperation::Unlock), |_| {
            self.require(PARTIAL_LOCK, "partial-unlock")?;
            self.tree.partial_unlock(id, self.session.owner())
        })
    }

    /// Releases the lock of another session (RFC 6241 §7.9 does so by ending the session: the same permission).
    ///
    /// # Errors
    /// Those of [`Tree::break_lock`](espalier_store::Tree::break_lock); `access-denied` for `kill-session`.
    pub fn break_lock(&self) -> Result<()> {
        self.counted(Call::new(AuditOperation::Unlock), |_| {
            self.require_operation("kill-session")?;
            self.tree.break_lock()
        })
    }

    /// As [`Self::break_lock`], for a partial lock.
    ///
    /// # Errors
    /// Those of [`Tree::break_partial_lock`](espalier_store::Tree::break_partial_lock); `access-denied` for `kill-session`.
    pub fn break_partial_lock(&self, id: u32) -> Result<()> {
        self.counted(Call::new(AuditOperation::Unlock), |_| {
            self.require_operation("kill-session")?;
            self.tree.break_partial_lock(id)
        })
    }

    /// Releases the locks of the session, discards its private candidate, and rolls back its confirmed commit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn end(&self) -> Result<()> {
        self.end_because(TerminationReason::Closed)
    }

    /// As [`Self::end`], when the connection of the session ended for this reason.
    ///
    /// # Errors
    /// As [`Self::end`].
    pub fn end_because(&self, reason: TerminationReason) -> Result<()> {
        self.changed(Call::new(AuditOperation::Logout), |_| {
            self.tree.store().end_session(self.session.owner())
        })?;
        self.service.sessions().end(self.session.id(), reason);
        Ok(())
    }

    /// `<kill-session>` (RFC 6241 §7.9): as [`Self::end`], for another session. Its requests are rejected from now on.
    ///
    /// # Errors
    /// `invalid-value` for the own session and for one that does not exist; `access-denied`.
    pub fn kill(&self, id: SessionId) -> Result<()> {
        self.changed(Call::new(AuditOperation::SessionKilled), |_| {
            self.require_operation("kill-session")?;
            let sessions = self.service.sessions();
            let is_other = id != self.session.id();
            let Some(killed) = is_other.then(|| sessions.kill(id)).flatten() else {
                let message = format!("there is no other session {}", id.0);
                let error = DataError::new(ErrorTag::InvalidValue, message);
                let error = error.of_type(ErrorType::Protocol);
                return Err(error.on_element("session-id").into());
            };
            self.tree.store().end_session(killed.owner())
        })
    }
}
