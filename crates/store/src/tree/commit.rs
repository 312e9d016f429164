//! The one way to change a datastore.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::{Batch, Expect, Expected, Precondition, Snapshot};
use espalier_yang::data::Origin;
use espalier_yang::{ErrorTag, InstancePath, Schema};

use super::confirm::Plan;
use super::datastore::Datastore;
use super::edit::{Applying, Edit, Remembered};
use super::operational::{Provider, Registration, rooted};
use super::rehearsal::rehearse;
use super::settle::Proposal;
use super::view::View;
use crate::catalog::{AnchorRow, Validation};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::{Compiled, Store};
use crate::subspace::Subspace;
use crate::transfer::Marker;

/// A condition on the state that a commit is based on: any error refuses the commit.
pub type Guard<'a> = &'a dyn Fn(&View) -> Result<()>;

/// Who commits, why, and under which condition.
#[derive(Clone, Copy, Default)]
pub struct CommitOptions<'a> {
    /// Kept in the log.
    pub author: &'a str,
    /// Kept in the log.
    pub comment: &'a str,
    /// Who holds locks and candidates; empty for nobody in particular.
    pub session: &'a str,
    /// Called on the very state that the commit is based on, before the edits are applied; more
    /// than once when another process interferes.
    pub guard: Option<Guard<'a>>,
    /// Where the configuration comes from that is pushed into the operational state datastore
    /// (RFC 8342 §5.3.4). What is pushed again with the same value keeps the origin it had.
    pub origin: Origin,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The version of the datastore, new where something changed.
    pub version: u64,
    /// When that version was made.
    pub time: Timestamp,
    /// Whether anything changed. What changes nothing is not written and makes no version.
    pub is_changed: bool,
}

/// One datastore of one anchor. Cheap to clone, shared between threads.
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
    /// Whose private candidate this is; else empty.
    session: Box<str>,
    /// The version of the engine at which the modules were last seen to be those of the tree.
    same_modules_at: AtomicU64,
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
            datastore: datastore.below().id(),
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
            }),
        }
    }

    /// Whether what is committed must be valid, whole and at all times (RFC 7950 §8.1).
    pub(super) fn is_validated(&self) -> bool {
        self.datastore() == Datastore::Running && self.is_constrained()
    }

    /// Whether the data of the anchor must meet the constraints of their model.
    pub(super) fn is_constrained(&self) -> bool {
        self.anchor().validation == Validation::Full
    }

    /// Another datastore of the same anchor.
    ///
    /// # Errors
    /// `invalid-value` where a private candidate is asked for without a session.
    pub fn beside(&self, datastore: Datastore, session: &str) -> Result<Self> {
        check_session(datastore, session)?;
        let (store, anchor) = (self.store().clone(), self.anchor().clone());
        let compiled = Arc::clone(self.compiled());
        Ok(Self::new(store, anchor, compiled, datastore, session))
    }

    /// Which datastore this is.
    pub fn datastore(&self) -> Datastore {
        self.inner.datastore
    }

    /// Whose private candidate this is; empty where it is none.
    pub fn session(&self) -> &str {
        &self.inner.session
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.inner.compiled.schema
    }

    /// The store that this is in.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn id(&self) -> TreeId {
        self.inner.id
    }

    pub(super) fn compiled(&self) -> &Arc<Compiled> {
        &self.inner.compiled
    }

    pub(crate) fn anchor(&self) -> &AnchorRow {
        &self.inner.anchor
    }

    /// The datastore as it is now.
    pub fn view(&self) -> Result<View> {
        if self.datastore() != Datastore::Operational {
            return self.stored_view();
        }
        let snapshot = self
            .store()
            .driver()
            .snapshot_expecting(&|expected| self.expect_modules(expected))?;
        self.check_modules(&*snapshot)?;
        let (compiled, store) = (Arc::clone(self.compiled()), self.store().clone());
        View::operational(snapshot, compiled, self.id(), store)
    }

    /// What is stored of the datastore: of the operational state, what was pushed.
    pub(crate) fn stored_view(&self) -> Result<View> {
        self.stored_view_expecting(&|_| {})
    }

    /// The same, with what will be read of it.
    pub(super) fn stored_view_expecting(&self, expect: Expect<'_>) -> Result<View> {
        let snapshot = self.store().driver().snapshot_expecting(&|expected| {
            self.expect_modules(expected);
            expect(expected);
        })?;
        self.check_modules(&*snapshot)?;
        self.stored_view_of(snapshot)
    }

    fn expect_modules(&self, expected: &mut Expected) {
        expected.key(&*self.compiled().same_modules.key);
    }

    /// Refuses to read rows that were written under other modules than those of the tree.
    ///
    /// # Errors
    /// `in-use` where other modules took the place of these.
    pub(in crate::tree) fn check_modules(&self, snapshot: &dyn Snapshot) -> Result<()> {
        let version = snapshot.version().0;
        if self.inner.same_modules_at.load(Ordering::Relaxed) == version {
            return Ok(());
        }
        let Precondition { key, value } = &self.compiled().same_modules;
        if snapshot.get(key)?.as_deref() != value.as_deref() {
            return Err(Error::data(ErrorTag::InUse, OTHER_MODULES));
        }
        self.inner.same_modules_at.store(version, Ordering::Relaxed);
        Ok(())
    }

    /// The same, of a snapshot.
    pub(super) fn stored_view_of(&self, snapshot: Box<dyn Snapshot + Send>) -> Result<View> {
        if self.datastore().is_candidate() {
            return self.candidate_view(snapshot);
        }
        Ok(View::new(snapshot, Arc::clone(self.compiled()), self.id()))
    }

    /// Has a provider asked for operational state at a path, and in it, for as long as the answer is
    /// kept. A list on the path without keys means every entry.
    ///
    /// # Errors
    /// `invalid-value` where the path is not one of [`Self::schema`].
    pub fn provide(&self, at: InstancePath, provider: Provider) -> Result<Registration> {
        let (registry, anchor) = (self.store().providers(), self.id().anchor);
        registry.register(anchor, self.schema(), at, provider)
    }

    /// Applies edits in order, as one atomic commit.
    ///
    /// # Errors
    /// [`Error::Data`] with every error of the edits, whatever the guard returns, or what the engine
    /// says. Nothing is changed then.
    pub fn commit(&self, edits: &[Edit], options: CommitOptions<'_>) -> Result<Commit> {
        self.check_writable()?;
        if self.datastore() == Datastore::FactoryDefault {
            let message = "factory-default is not edited; a whole document is loaded into it, or a datastore copied";
            return Err(Error::data(ErrorTag::OperationNotSupported, message));
        }
        if self.datastore().is_candidate() {
            return self.edit_candidate(edits, options);
        }
        let (edits, remembered) = match self.datastore() {
            // Its parts have no stamps.
            Datastore::Operational => (rooted(self.schema(), edits), Remembered::Datastore),
            _ => (Cow::Borrowed(edits), Remembered::Each),
        };
        let of = (&**self.compiled(), self.id());
        let expect = |expected: &mut Expected| rehearse(&edits, of, expected);
        self.settle_planned(options, Plan::Edit, &expect, &mut |view| {
            let mut overlay = Overlay::new(view.into_snapshot());
            let applying = Applying::new(&mut overlay, self.compiled(), self.id());
            let mut applying = applying.remembering(remembered);
            for edit in edits.iter() {
                applying.edit(edit)?;
            }
            let Applying {
                errors, touched, ..
            } = applying;
            errors.into_result()?;
            Ok(Proposal {
                overlay,
                touched,
                beside: Batch::new(),
            })
        })
    }

    /// Whether the anchor is still the one that was opened, under the same modules. Where it is not, what
    /// is read here is what the old modules know, and commits are refused: open it again.
    ///
    /// # Errors
    /// What the engine says.
    pub fn is_current(&self) -> Result<bool> {
        let snapshot = self.store().driver().snapshot()?;
        let AnchorRow { key, value, .. } = self.anchor();
        let modules = &self.compiled().same_modules;
        Ok(Marker::read(&*snapshot)?.is_none()
            && snapshot.get(key)?.as_deref() == Some(value)
            && snapshot.get(&modules.key)?.as_deref() == modules.value.as_deref())
    }

    /// Whether the anchor is still there, in another way.
    fn is_set_up_anew(&self) -> Result<bool> {
        let snapshot = self.store().driver().snapshot()?;
        let found = self.store().anchor_at(&*snapshot, &self.anchor().key)?;
        Ok(found.is_some_and(|(row, _)| row.id == self.anchor().id))
    }

    /// Refuses edits of what is not edited.
    pub(super) fn check_writable(&self) -> Result<()> {
        let message = match self.datastore() {
            Datastore::Intended => "intended is what running becomes: edit running",
            _ => return Ok(()),
        };
        Err(Error::data(ErrorTag::OperationNotSupported, message))
    }

    /// The key of the datastore itself, of running for a candidate.
    pub(super) fn tree_key(&self) -> Vec<u8> {
        self.id().prefix(Subspace::Tree)
    }

    /// Tells a conflict on the data from an anchor that was deleted meanwhile.
    pub(super) fn check_anchor(&self, conflict: &espalier_keyspace::Error) -> Result<()> {
        if conflict.key() == Some(&self.anchor().key) {
            if self.is_set_up_anew()? {
                let message = "the anchor was set up anew; open it again (a server does that by itself: try again)";
                return Err(Error::data(ErrorTag::InUse, message));
            }
            return Err(Error::Unknown {
                kind: "anchor",
                name: self.anchor().name.clone(),
            });
        }
        if conflict.key() == Some(&self.compiled().same_modules.key) {
            return Err(Error::data(ErrorTag::InUse, OTHER_MODULES));
        }
        Ok(())
    }
}

const OTHER_MODULES: &str = "other modules took the place of these; open the tree again (a server does that by itself: try again)";

/// A session is named by at most this many bytes.
pub const SESSION_BYTES_MAX: usize = 64;

/// Refuses a private candidate of nobody, and a name of a session that is too long.
pub(crate) fn check_session(datastore: Datastore, session: &str) -> Result<()> {
    if session.len() > SESSION_BYTES_MAX {
        let message = format!("a session is named by at most {SESSION_BYTES_MAX} bytes");
        return Err(Error::data(ErrorTag::InvalidValue, message));
    }
    if datastore == Datastore::PrivateCandidate && session.is_empty() {
        let message = "a private candidate belongs to a session: name the session";
        return Err(Error::data(ErrorTag::InvalidValue, message));
    }
    Ok(())
}
