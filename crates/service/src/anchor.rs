//! Open anchors.

use std::sync::Arc;

use espalier_store::{Datastore, Result, Tree};
use espalier_yang::Schema;

/// An open anchor, with the modules that it had when it was opened. Front ends hold it, and get from it what a session
/// may see. Cheap to clone.
#[derive(Clone)]
pub struct Anchor {
    pub(crate) running: Tree,
}

impl Anchor {
    /// The anchor of a datastore that a program opened.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(tree: &Tree) -> Result<Self> {
        Ok(Self {
            running: tree.sibling_datastore(Datastore::Running, "")?,
        })
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        self.running.schema()
    }

    /// Whether it is still the anchor that was opened, with the same modules.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn is_current(&self) -> Result<bool> {
        self.running.is_current()
    }

    pub(crate) fn running(&self) -> &Tree {
        &self.running
    }
}
