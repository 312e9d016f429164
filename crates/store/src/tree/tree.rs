//! [`Tree`]: the handle of one datastore.
//!
//! Its methods are grouped by what they do, in the folders next to this file: `open_view.rs` reads, `commit_edits.rs` edits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::{ConflictRetry, Precondition, Propose, Snapshot, Transact};
use espalier_yang::{ErrorTag, Schema};

use super::datastore::Datastore;
use crate::catalog::{AnchorRow, Validation, anchor_id_in};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::store::Store;
use crate::subspace::Subspace;
use crate::transfer::Marker;

/// A handle of one datastore of one anchor. Cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Tree {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    id: TreeId,
    anchor: AnchorRow,
    compiled: Arc<Compiled>,
    datastore: Datastore,
    /// The session of a private candidate; else empty.
    session: Box<str>,
    /// The engine version at which the modules were last verified to be unchanged.
    same_modules_at: AtomicU64,
    /// The oldest version that the log had when a commit last looked; 0 if unknown.
    log_start: AtomicU64,
}

impl Tree {
    pub(crate) fn new(
        store: Store,
        anchor: AnchorRow,
        compiled: Arc<Compiled>,
        datastore: Datastore,
        session: &str,
    ) -> Self {
        let id = TreeId {
            anchor: anchor.id,
            datastore: datastore.stored_in().id(),
        };
        Self {
            inner: Arc::new(Inner {
                store,
                id,
                anchor,
                compiled,
                datastore,
                session: session.into(),
                same_modules_at: AtomicU64::new(u64::MAX),
                log_start: AtomicU64::new(0),
            }),
        }
    }

    /// Whether every commit must leave the datastore valid (RFC 7950 §8.1).
    pub(super) fn is_validated(&self) -> bool {
        self.datastore() == Datastore::Running && self.is_constrained()
    }

    /// Whether the data of the anchor must satisfy the constraints of its model.
    pub(super) fn is_constrained(&self) -> bool {
        self.anchor().validation == Validation::Full
    }

    /// Another datastore of the same anchor.
    ///
    /// # Errors
    /// `invalid-value` for a private candidate without a session.
    pub fn sibling_datastore(&self, datastore: Datastore, session: &str) -> Result<Self> {
        check_session(datastore, session)?;
        let (store, anchor) = (self.store().clone(), self.anchor().clone());
        let compiled = Arc::clone(self.compiled());
        Ok(Self::new(store, anchor, compiled, datastore, session))
    }

    /// The datastore of this handle.
    pub fn datastore(&self) -> Datastore {
        self.inner.datastore
    }

    /// The session of a private candidate; else empty.
    pub fn session(&self) -> &str {
        &self.inner.session
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.inner.compiled.schema
    }

    /// The store that contains this datastore.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn id(&self) -> TreeId {
        self.inner.id
    }

    pub(super) fn compiled(&self) -> &Arc<Compiled> {
        &self.inner.compiled
    }

    /// The oldest version that the log had when a commit last looked; 0 if unknown. It can be wrong: that commit may
    /// not have been written, and a backup may have been restored.
    pub(super) fn log_start(&self) -> u64 {
        self.inner.log_start.load(Ordering::Relaxed)
    }

    /// Notes the oldest version in the log.
    pub(super) fn note_log_start(&self, oldest: u64) {
        self.inner.log_start.store(oldest, Ordering::Relaxed);
    }

    /// Whether another datastore belongs to the same anchor.
    pub fn has_same_anchor(&self, other: &Self) -> bool {
        self.anchor().id == other.anchor().id
    }

    /// The name of its anchor in its dataspace.
    pub fn anchor_name(&self) -> &str {
        &self.anchor().name
    }

    /// The number of its anchor, which no other anchor of the store ever gets.
    pub fn anchor_id(&self) -> u64 {
        self.anchor().id
    }

    pub(crate) fn anchor(&self) -> &AnchorRow {
        &self.inner.anchor
    }

    /// Rejects rows that were written under other modules than those of this handle, or to another anchor.
    ///
    /// # Errors
    /// `in-use` if the modules were replaced; [`Error::Unknown`] if the anchor was deleted.
    pub(in crate::tree) fn check_modules(&self, snapshot: &dyn Snapshot) -> Result<()> {
        let version = snapshot.version().0;
        if self.inner.same_modules_at.load(Ordering::Relaxed) == version {
            return Ok(());
        }
        let Precondition { key, value } = &self.compiled().modules_precondition;
        if snapshot.get(key)?.as_deref() != value.as_deref() {
            return Err(Error::data(ErrorTag::InUse, OTHER_MODULES));
        }
        match snapshot.get(&self.anchor().key)? {
            // Its other settings concern commits, which check the whole row.
            Some(row) if anchor_id_in(&row)? == self.anchor().id => {}
            _ => return Err(self.deleted()),
        }
        self.inner.same_modules_at.store(version, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the anchor is still the one that was opened, with the same modules. If not, this handle
    /// reads with the old modules and its commits fail: open the anchor again.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn is_current(&self) -> Result<bool> {
        let AnchorRow { key, value, .. } = self.anchor();
        let modules = &self.compiled().modules_precondition;
        let driver = self.store().driver();
        let snapshot = driver.snapshot_with_prefetch(&|expected| {
            expected.key(&**key);
            expected.key(&*modules.key);
            expected.key(Marker::key());
        })?;
        Ok(Marker::read(&*snapshot)?.is_none()
            && snapshot.get(key)?.as_deref() == Some(value)
            && snapshot.get(&modules.key)?.as_deref() == modules.value.as_deref())
    }

    /// Whether the anchor still exists, recreated with other settings.
    fn was_recreated(&self) -> Result<bool> {
        let snapshot = self.store().driver().snapshot()?;
        let found = self.store().anchor_at(&*snapshot, &self.anchor().key)?;
        Ok(found.is_some_and(|(row, _)| row.id == self.anchor().id))
    }

    /// Rejects edits of a datastore that cannot be edited.
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.datastore().edits_rejected() {
            Some(message) if self.datastore() == Datastore::Intended => {
                Err(Error::data(ErrorTag::OperationNotSupported, message))
            }
            _ => Ok(()),
        }
    }

    /// Commits optimistically what `propose` decides, see [`Transact::run`].
    pub(super) fn transact<T>(
        &self,
        retry: ConflictRetry,
        snapshot: &dyn Fn() -> Result<Box<dyn Snapshot + Send>>,
        propose: Propose<'_, T, Error>,
    ) -> Result<T> {
        let transact = Transact {
            driver: &**self.store().driver(),
            on_conflict: &|conflict| self.check_anchor(conflict),
            retry,
        };
        transact.run(snapshot, propose)
    }

    /// Commits what `propose` decides on the newest state.
    pub(super) fn transact_on_newest<T>(&self, propose: Propose<'_, T, Error>) -> Result<T> {
        let driver = self.store().driver();
        driver.catch_up()?;
        let newest = || Ok(driver.snapshot()?);
        self.transact(ConflictRetry::new(), &newest, propose)
    }

    /// The anchor is unchanged.
    pub(super) fn anchor_precondition(&self) -> Precondition {
        let AnchorRow { key, value, .. } = self.anchor().clone();
        let value = Some(value);
        Precondition { key, value }
    }

    /// The key of the datastore itself; for a candidate, that of running.
    pub(super) fn tree_key(&self) -> Vec<u8> {
        self.id().prefix(Subspace::Tree)
    }

    /// The result of a commit that is not retried, with [`Self::check_anchor`].
    pub(super) fn checked_conflict<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(Error::Engine(conflict)) = &result {
            self.check_anchor(conflict)?;
        }
        result
    }

    /// Turns a conflict on the anchor or its modules into an error of its own. Returns `Ok` for a conflict
    /// on the data.
    pub(super) fn check_anchor(&self, conflict: &espalier_keyspace::Error) -> Result<()> {
        if conflict.key() == Some(&self.anchor().key) {
            if self.was_recreated()? {
                let message = "the anchor was recreated; open it again (a server reopens it automatically: retry)";
                return Err(Error::data(ErrorTag::InUse, message));
            }
            return Err(self.deleted());
        }
        if conflict.key() == Some(&self.compiled().modules_precondition.key) {
            return Err(Error::data(ErrorTag::InUse, OTHER_MODULES));
        }
        Ok(())
    }

    fn deleted(&self) -> Error {
        Error::Unknown {
            kind: "anchor",
            name: self.anchor().name.clone(),
        }
    }
}

const OTHER_MODULES: &str =
    "the modules were replaced; open the tree again (a server reopens it automatically: retry)";

/// The maximum length of a session name, in bytes.
pub const SESSION_BYTES_MAX: usize = 64;

/// Rejects a private candidate without a session, and a session name that is too long.
pub(crate) fn check_session(datastore: Datastore, session: &str) -> Result<()> {
    if session.len() > SESSION_BYTES_MAX {
        let message = format!("a session name has at most {SESSION_BYTES_MAX} bytes");
        return Err(Error::data(ErrorTag::InvalidValue, message));
    }
    if datastore == Datastore::PrivateCandidate && session.is_empty() {
        let message = "a private candidate requires a session name";
        return Err(Error::data(ErrorTag::InvalidValue, message));
    }
    Ok(())
}
