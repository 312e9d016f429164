//! Finds the datastore with a part of the configuration.

use espalier_store::{Error, Result, Store, Tree};
use espalier_yang::ErrorTag;
use parking_lot::{Mutex, RwLock};

use super::server_anchor;

/// The datastores that can have the configuration of the server. Shared by all its front ends.
pub struct ConfigurationTrees {
    store: Store,
    /// Running of the served anchor; `None` if no anchor is served.
    served: RwLock<Option<Tree>>,
    /// Running of the server anchor, as it was opened last.
    server: Mutex<Option<Tree>>,
}

impl ConfigurationTrees {
    /// The datastores of a store. `served` is running of the anchor that is served by default.
    pub fn new(store: Store, served: Option<Tree>) -> Self {
        Self {
            store,
            served: RwLock::new(served),
            server: Mutex::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Running of the anchor that is served by default; `None` if no anchor is served.
    pub fn served(&self) -> Option<Tree> {
        self.served.read().clone()
    }

    /// Replaces the served datastore, after its modules were changed.
    pub fn set_served(&self, tree: Tree) {
        *self.served.write() = Some(tree);
    }

    /// Running of the anchor that has the data of a module: the served one if its models define the module, else the
    /// server anchor; `None` if there is no such anchor yet.
    ///
    /// # Errors
    /// Those of the store.
    pub fn with_module(&self, module: &str) -> Result<Option<Tree>> {
        match self.served_with(module) {
            Some(served) => Ok(Some(served)),
            None => self.server(),
        }
    }

    fn served_with(&self, module: &str) -> Option<Tree> {
        self.served().filter(|served| implements(served, module))
    }

    /// As [`Self::with_module`]. If the server anchor is needed, creates it, or replaces its modules by newer ones.
    ///
    /// # Errors
    /// Those of the store; `operation-failed` if another process deletes the server anchor now.
    pub fn for_writing(&self, module: &str) -> Result<Tree> {
        if let Some(served) = self.served_with(module) {
            return Ok(served);
        }
        server_anchor::prepare(&self.store)?;
        self.server()?.ok_or_else(|| {
            let message = format!("no datastore has the module {module}");
            Error::data(ErrorTag::OperationFailed, message)
        })
    }

    /// Running of the server anchor; `None` if there is none.
    fn server(&self) -> Result<Option<Tree>> {
        let mut server = self.server.lock();
        let is_current = match &*server {
            Some(tree) => tree.is_current()?,
            None => false,
        };
        if !is_current {
            *server = server_anchor::open(&self.store)?;
        }
        Ok(server.clone())
    }
}

/// Whether a module has data in a datastore; modules that others only import have none.
fn implements(tree: &Tree, module: &str) -> bool {
    let schema = tree.schema();
    let id = schema.module_by_name(module);
    id.is_some_and(|id| schema.module(id).is_implemented)
}
