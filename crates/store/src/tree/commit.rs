//! The one way to change a datastore.

use std::sync::Arc;

use espalier_yang::Schema;

use super::edit::{Applying, Edit};
use super::settle::Proposal;
use super::view::View;
use crate::catalog::AnchorRow;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::{Compiled, Store};
use crate::subspace::Subspace;

/// A condition on the state that a commit is based on: any error refuses the commit.
pub type Guard<'a> = &'a dyn Fn(&View) -> Result<()>;

/// Who commits, why, and under which condition.
#[derive(Clone, Copy, Default)]
pub struct CommitOptions<'a> {
    /// Kept in the log.
    pub author: &'a str,
    /// Kept in the log.
    pub comment: &'a str,
    /// Called on the very state that the commit is based on, before the edits are applied; more
    /// than once when another process interferes.
    pub guard: Option<Guard<'a>>,
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
}

impl Tree {
    pub(crate) fn new(
        store: Store,
        id: TreeId,
        anchor: AnchorRow,
        compiled: Arc<Compiled>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                id,
                anchor,
                compiled,
            }),
        }
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.inner.compiled.schema
    }

    /// The store that this is in.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(super) fn id(&self) -> TreeId {
        self.inner.id
    }

    pub(super) fn compiled(&self) -> &Arc<Compiled> {
        &self.inner.compiled
    }

    pub(super) fn anchor(&self) -> &AnchorRow {
        &self.inner.anchor
    }

    /// The datastore as it is now.
    pub fn view(&self) -> Result<View> {
        let snapshot = self.store().driver().snapshot()?;
        Ok(View::new(snapshot, Arc::clone(self.compiled()), self.id()))
    }

    /// Applies edits in order, as one atomic commit.
    ///
    /// # Errors
    /// [`Error::Data`] with every error of the edits, whatever the guard returns, or what the engine
    /// says. Nothing is changed then.
    pub fn commit(&self, edits: &[Edit], options: CommitOptions<'_>) -> Result<Commit> {
        self.settle(options, &mut |view| {
            let mut overlay = Overlay::new(view.into_snapshot());
            let mut applying = Applying::new(&mut overlay, self.compiled(), self.id());
            for edit in edits {
                applying.edit(edit)?;
            }
            let Applying {
                errors, touched, ..
            } = applying;
            errors.into_result()?;
            Ok(Proposal { overlay, touched })
        })
    }

    /// The key of the datastore itself.
    pub(super) fn tree_key(&self) -> Vec<u8> {
        self.id().prefix(Subspace::Tree)
    }

    /// Tells a conflict on the data from an anchor that was deleted meanwhile.
    pub(super) fn check_anchor(&self, conflict: &espalier_keyspace::Error) -> Result<()> {
        if conflict.key() == Some(&self.anchor().key) {
            return Err(Error::Unknown {
                kind: "anchor",
                name: self.anchor().name.clone(),
            });
        }
        Ok(())
    }
}
