//! Opening a datastore of a store.

use super::{Datastore, Tree, check_session};
use crate::error::Result;
use crate::store::Store;
use crate::transfer::reject_unfinished;

impl Store {
    /// A datastore of an anchor. Its schema is compiled on first use and cached.
    ///
    /// # Errors
    /// [`Error::Unknown`] for dataspace and anchor.
    pub fn tree(&self, dataspace: &str, anchor: &str, datastore: Datastore) -> Result<Tree> {
        self.tree_of(dataspace, anchor, datastore, "")
    }

    /// Like [`Self::tree`], for a session: a private candidate belongs to its session.
    pub fn tree_of(
        &self,
        dataspace: &str,
        anchor: &str,
        datastore: Datastore,
        session: &str,
    ) -> Result<Tree> {
        check_session(datastore, session)?;
        let snapshot = self.driver().snapshot()?;
        reject_unfinished(&*snapshot)?;
        let (anchor, compiled) = self.compiled_anchor(&*snapshot, dataspace, anchor)?;
        drop(snapshot);
        compiled.store(&**self.driver());
        let store = self.clone();
        let tree = Tree::new(store, anchor, compiled, datastore, session);
        if let Err(error) = tree.expire() {
            tracing::warn!(%error, "rolling back expired confirmed commits failed");
        }
        Ok(tree)
    }
}
