//! A document that comes together with the modules that it fits.

use std::sync::Arc;

use espalier_yang::{Schema, Sink};

use crate::error::Result;
use crate::overlay::{ChangesWriter, Overlay};
use crate::tree::load::{LoadMode, LoadOptions, Loading};
use crate::tree::{Datastore, Tree};

/// What reads a document by the new schema.
type Document<'a> = &'a mut dyn FnMut(&Arc<Schema>, &mut dyn Sink) -> Result<()>;

/// A document that is loaded in the commit that changes the modules. What it changes is held in memory.
pub struct UpgradeLoad<'a, 'o> {
    /// The anchor that it is loaded into.
    pub anchor: &'a str,
    /// The datastore: running, startup or factory-default.
    pub datastore: Datastore,
    /// How it is loaded. The guard and the origin are not used.
    pub options: LoadOptions<'o>,
    /// Reads it, once.
    pub document: Document<'a>,
    /// Containers and list entries in it, afterwards.
    pub fragments: u64,
    /// Leaves and leaf-list entries in it, afterwards.
    pub values: u64,
}

impl UpgradeLoad<'_, '_> {
    /// Whether the document takes the place of everything.
    pub(super) fn replaces(&self) -> bool {
        self.options.mode == LoadMode::Replace
    }

    /// Loads it over what the datastore is under the new schema.
    pub(super) fn apply(&mut self, tree: &Tree, mut overlay: Overlay) -> Result<Overlay> {
        let mut writer = ChangesWriter::new(&overlay);
        let mut loading = Loading::new(tree, &overlay, &mut writer, None, &mut self.options);
        let parsed = (self.document)(tree.schema(), &mut loading);
        let done = loading.finish(parsed)?;
        let changes = writer.into_changes();
        overlay.apply(&changes);
        (self.fragments, self.values) = (done.fragments, done.values);
        Ok(overlay)
    }
}
