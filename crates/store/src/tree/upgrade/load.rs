//! Loads a document together with the modules that it conforms to.

use std::sync::Arc;

use espalier_yang::{Schema, Sink};

use crate::error::Result;
use crate::overlay::{ChangesWriter, Overlay};
use crate::tree::load::{LoadMode, LoadOptions, Loader};
use crate::tree::{Datastore, Tree};

/// Reads a document with the new schema.
type Document<'a> = &'a mut dyn FnMut(&Arc<Schema>, &mut dyn Sink) -> Result<()>;

/// A document that is loaded in the commit that changes the modules. Its changes are held in memory.
pub struct UpgradeLoad<'a, 'o> {
    /// The anchor to load into.
    pub anchor: &'a str,
    /// The datastore: running, startup or factory-default.
    pub datastore: Datastore,
    /// The load options. The guard and the origin are not used.
    pub options: LoadOptions<'o>,
    /// Reads the document; called once.
    pub document: Document<'a>,
    /// The number of containers and list entries in the document; set by the load.
    pub fragments: u64,
    /// The number of leaves and leaf-list entries in the document; set by the load.
    pub values: u64,
}

impl UpgradeLoad<'_, '_> {
    /// Whether the document replaces everything.
    pub(super) fn replaces(&self) -> bool {
        self.options.mode == LoadMode::Replace
    }

    /// Loads the document into the converted datastore.
    pub(super) fn apply(&mut self, tree: &Tree, mut overlay: Overlay) -> Result<Overlay> {
        let mut writer = ChangesWriter::new(&overlay);
        let mut loader = Loader::new(tree, &overlay, &mut writer, None, &mut self.options);
        let parsed = (self.document)(tree.schema(), &mut loader);
        let done = loader.finish(parsed)?;
        let changes = writer.into_changes();
        overlay.apply(&changes);
        (self.fragments, self.values) = (done.fragments, done.values);
        Ok(overlay)
    }
}
