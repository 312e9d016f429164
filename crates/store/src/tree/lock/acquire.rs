//! Acquires locks.

use espalier_keyspace::{Batch, Snapshot};
use espalier_yang::{DataError, ErrorTag, InstancePath};

use super::record::{Lock, LockRecord, PartialLock};
use crate::error::{Error, Result};
use crate::subspace::Subspace;
use crate::tree::locate::LocationKind;
use crate::tree::tree::check_session;
use crate::tree::{Datastore, Tree};

/// Maximum number of partial locks of one datastore.
pub(super) const PARTIAL_LOCKS_MAX: usize = 1024;

/// Maximum number of nodes of one partial lock.
const LOCKED_PATHS_MAX: usize = 256;

impl Tree {
    /// Locks the whole datastore for a session (RFC 6241 §7.5).
    ///
    /// # Errors
    /// `lock-denied` for a lock or a partial lock of another session, a pending confirmed commit, or
    /// uncommitted changes of others; the message names the session.
    pub fn lock(&self, session: &str) -> Result<Lock> {
        self.check_lockable(session)?;
        let time = self.store().now();
        let session = session.to_owned();
        let lock = Lock { session, time };
        self.update_lock_record(&mut |tree, snapshot, lock_record| {
            tree.check_lock(snapshot, lock_record, &lock.session)?;
            lock_record.locks.lock = Some(lock.clone());
            Ok(())
        })?;
        Ok(lock)
    }

    fn check_lock(
        &self,
        snapshot: &dyn Snapshot,
        lock_record: &LockRecord,
        session: &str,
    ) -> Result<()> {
        let name = self.datastore().name();
        if let Some(lock) = &lock_record.locks.lock {
            let message = format!(
                "{name} is already locked by session “{}”; “espalier unlock --force” breaks the lock",
                lock.session
            );
            return Err(denied(&lock.session, message));
        }
        let mut partial = lock_record.locks.partial.iter();
        if let Some(partial) = partial.find(|partial| partial.session != session) {
            let message = format!(
                "session “{}” has the partial lock {} in {name}",
                partial.session, partial.id
            );
            return Err(denied(&partial.session, message));
        }
        if let Some(pending) = &lock_record.locks.pending
            && pending.session != session
        {
            let message = format!(
                "a confirmed commit of session “{}” is pending",
                pending.session
            );
            return Err(denied(&pending.session, message));
        }
        if !self.datastore().is_candidate() {
            return Ok(());
        }
        let sessions = self.candidate_sessions(snapshot)?;
        match sessions.iter().find(|editor| *editor != session) {
            Some(editor) => {
                let message = format!(
                    "{name} has uncommitted changes of session “{editor}”; they must be committed or discarded first"
                );
                Err(denied(editor, message))
            }
            None => Ok(()),
        }
    }

    /// Locks subtrees for a session (RFC 5717): existing nodes and nodes created later at these paths.
    ///
    /// # Errors
    /// `lock-denied` if another session has locked one of them, an ancestor or a descendant; `data-missing`
    /// if an entry of a list ordered by user does not exist.
    pub fn partial_lock(&self, paths: &[InstancePath], session: &str) -> Result<PartialLock> {
        self.check_lockable(session)?;
        if paths.is_empty() || paths.len() > LOCKED_PATHS_MAX {
            let message = format!("a partial lock has 1 to {LOCKED_PATHS_MAX} nodes");
            return Err(Error::data(ErrorTag::InvalidValue, message));
        }
        let time = self.store().now();
        let mut acquired = None;
        self.update_lock_record(&mut |tree, snapshot, lock_record| {
            let mut partial = PartialLock {
                id: lock_record.last_partial + 1,
                session: session.to_owned(),
                time,
                paths: Vec::new(),
                keys: Vec::new(),
            };
            for path in paths {
                let (text, key) = tree.locked_node(snapshot, path)?;
                check_partial(lock_record, session, &text, &key)?;
                partial.paths.push(text);
                partial.keys.push(key);
            }
            if lock_record.locks.partial.len() >= PARTIAL_LOCKS_MAX {
                let message = format!("there are {PARTIAL_LOCKS_MAX} partial locks already");
                return Err(Error::data(ErrorTag::ResourceDenied, message));
            }
            lock_record.last_partial = partial.id;
            lock_record.locks.partial.push(partial.clone());
            acquired = Some(partial);
            Ok(())
        })?;
        acquired.ok_or_else(|| Error::corrupt("a partial lock was not acquired"))
    }

    /// A node as text, and its key without the prefix of the tree.
    fn locked_node(
        &self,
        snapshot: &dyn Snapshot,
        path: &InstancePath,
    ) -> Result<(String, Vec<u8>)> {
        let state = crate::tree::TreeState::new(snapshot, self.compiled(), self.id());
        let text = path.to_instance_identifier(self.schema());
        let error = |tag, message: &str| Error::from(DataError::new(tag, message).at(text.clone()));
        match state.locate(path)? {
            None => Err(error(
                ErrorTag::DataMissing,
                "the node to lock does not exist",
            )),
            Some(place) if place.kind == LocationKind::Leaf => Err(error(
                ErrorTag::OperationNotSupported,
                "a leaf cannot be locked; lock its container or entry",
            )),
            Some(place) => {
                let key = place.key[self.id().prefix(Subspace::Tree).len()..].to_vec();
                Ok((text, key))
            }
        }
    }

    fn check_lockable(&self, session: &str) -> Result<()> {
        check_session(self.datastore(), session)?;
        if session.is_empty() {
            let message = "a lock requires a session name";
            return Err(Error::data(ErrorTag::InvalidValue, message));
        }
        match self.datastore() {
            Datastore::Running | Datastore::Candidate | Datastore::Startup => Ok(()),
            other => {
                let message = format!("{} cannot be locked", other.name());
                Err(Error::data(ErrorTag::OperationNotSupported, message))
            }
        }
    }

    /// Updates the lock record of the datastore. Retries if it was changed meanwhile.
    pub(in crate::tree) fn update_lock_record(
        &self,
        change: &mut dyn FnMut(&Self, &dyn Snapshot, &mut LockRecord) -> Result<()>,
    ) -> Result<()> {
        self.transact_on_newest(&mut |snapshot| {
            let mut batch = Batch::new();
            let mut lock_record = self.lock_record(&*snapshot)?;
            let before = lock_record.clone();
            change(self, &*snapshot, &mut lock_record)?;
            if lock_record != before {
                self.put_lock_record(lock_record, &mut batch);
                batch.require_all([self.anchor_precondition()]);
            }
            Ok((batch, ()))
        })
    }
}

fn check_partial(lock_record: &LockRecord, session: &str, path: &str, key: &[u8]) -> Result<()> {
    if let Some(lock) = &lock_record.locks.lock
        && lock.session != session
    {
        let message = format!("the datastore is locked by session “{}”", lock.session);
        return Err(denied(&lock.session, message));
    }
    for other in lock_record.locks.partial.iter() {
        let overlaps = |theirs: &Vec<u8>| theirs.starts_with(key) || key.starts_with(theirs);
        if other.session != session && other.keys.iter().any(overlaps) {
            let message = format!(
                "{path} is in the partial lock {} of session “{}”",
                other.id, other.session
            );
            return Err(denied(&other.session, message));
        }
    }
    Ok(())
}

/// The error names the session that holds the lock (RFC 6241 appendix A).
fn denied(session: &str, message: String) -> Error {
    DataError::new(ErrorTag::LockDenied, message)
        .held_by(session)
        .into()
}
