//! What the providers of one served anchor read.

use std::sync::{Arc, OnceLock};

use espalier_store::{Result, Timestamp};
use espalier_yang::Schema;

use super::ServedAnchor;
use super::sources::StateSources;
use super::yang_library::{Library, LibraryTag};

/// What the providers of one served anchor read.
pub(super) struct AnchorState {
    pub(super) served: ServedAnchor,
    pub(super) sources: Arc<StateSources>,
    /// Distinguishes this description from all others of the process.
    pub(super) number: u64,
    pub(super) described: Timestamp,
    pub(super) library: OnceLock<LibraryTag>,
    pub(super) module_capabilities: OnceLock<Arc<[String]>>,
}

impl AnchorState {
    /// The schema of the server's state.
    pub(super) fn state_schema(&self) -> Result<Arc<Schema>> {
        self.sources.store.schema()
    }

    /// The YANG library's tag.
    pub(super) fn library_tag(&self) -> Result<LibraryTag> {
        if let Some(tag) = self.library.get() {
            return Ok(tag.clone());
        }
        let id = self.content_id()?;
        let since = self.described;
        Ok(self
            .library
            .get_or_init(|| LibraryTag { id, since })
            .clone())
    }

    /// The capabilities of NETCONF for its modules.
    pub(super) fn module_capabilities(&self) -> Result<Arc<[String]>> {
        if let Some(all) = self.module_capabilities.get() {
            return Ok(Arc::clone(all));
        }
        let schema = self.state_schema()?;
        let all = Library::new(&self.served, &schema).module_capabilities();
        let all = self.module_capabilities.get_or_init(|| all.into());
        Ok(Arc::clone(all))
    }

    pub(super) fn content_id(&self) -> Result<String> {
        let schema = self.state_schema()?;
        Ok(Library::new(&self.served, &schema).content_id())
    }
}
