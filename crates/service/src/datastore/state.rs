//! The state of the server, in the datastores of the anchor that is served.
//!
//! It is in the operational datastore, and in what RESTCONF serves as running configuration with state. A front end
//! calls [`SessionDatastore::with_top_node`] before it parses a path, and [`SessionDatastore::for_state`] after it.

use espalier_store::{Datastore, Result};
use espalier_yang::InstancePath;

use super::SessionDatastore;
use crate::server_state::{LibraryTag, defines, is_state_module};

/// The module of the YANG library.
const LIBRARY: &str = "ietf-yang-library";

impl SessionDatastore {
    /// The datastore that has a top-level node: that of the server's state if the models of the anchor do not define the
    /// node and those of the state do, else this one.
    ///
    /// # Errors
    /// Those of the store in memory.
    pub fn with_top_node(self, module: &str, name: &str) -> Result<Self> {
        if !is_state_module(module) || defines(self.schema(), module, name) {
            return Ok(self);
        }
        match self.server_state()? {
            Some(state) if defines(state.schema(), module, name) => Ok(state),
            _ => Ok(self),
        }
    }

    /// The datastore with the server's state that the models of the anchor do not define; `None` if no front end
    /// [described](crate::Service::describe) the anchor.
    ///
    /// # Errors
    /// Those of the store in memory.
    pub fn server_state(&self) -> Result<Option<Self>> {
        let tree = self.service.state_tree(&self.tree)?;
        Ok(tree.map(|tree| Self {
            served: Some(self.tree.clone()),
            tree,
            ..self.clone()
        }))
    }

    /// For running with a path of state that is not stored in it: the operational datastore, which has the state of the
    /// server (also in a schema mounted in the models), of providers, and what was pushed. Else this datastore.
    ///
    /// # Errors
    /// Those of the store.
    pub fn for_state(self, path: &InstancePath) -> Result<Self> {
        let schema = self.schema();
        let target = path.target();
        let is_state = target.is_some_and(|target| !schema.node(target).is_config);
        if !is_state || self.datastore() != Datastore::Running {
            return Ok(self);
        }
        let mut steps = path.steps.iter();
        let is_of_server =
            steps.any(|step| is_state_module(&schema.module(schema.node(step.node).module).name));
        match !is_of_server && self.tree.view()?.has_content(path)? {
            true => Ok(self),
            false => self.sibling(Datastore::Operational),
        }
    }

    /// What changes with the content at a path of the YANG library; `None` for all other data.
    ///
    /// # Errors
    /// Those of the store in memory.
    pub fn library_tag(&self, path: &InstancePath) -> Result<Option<LibraryTag>> {
        let is_operational = self.datastore() == Datastore::Operational;
        match is_operational && self.module_of(path) == Some(LIBRARY) {
            true => self.service.library_tag_of(self.governed()),
            false => Ok(None),
        }
    }

    /// The module of the first node of a path.
    fn module_of(&self, path: &InstancePath) -> Option<&str> {
        let schema = self.schema();
        let first = path.steps.first()?;
        Some(&schema.module(schema.node(first.node).module).name)
    }
}
