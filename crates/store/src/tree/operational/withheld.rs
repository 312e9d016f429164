//! Configuration that is not in use (RFC 8342 §5.3: what could not be applied is not in the
//! operational state).
//!
//! | key after the tree's prefix | value |
//! |---|---|
//! | the path, as a string element | the path |
//!
//! Paths are kept, not keys: an entry ordered by user may move, and what is created again is still
//! withheld.

use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot, tuple};
use espalier_yang::data::Operation;
use espalier_yang::{ErrorTag, InstancePath, Schema};

use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::Compiled;
use crate::subspace::Subspace;
use crate::tree::commit::Tree;
use crate::tree::datastore::Datastore;
use crate::tree::edit::Applying;

/// The most paths that are withheld at once: each is looked up for every view.
pub const WITHHELD_MAX: usize = 4096;

impl Tree {
    /// Says that configuration is not in use: what running holds at these paths (a list without
    /// keys at the end: all its entries), now and later, is no part of the operational state until
    /// it is released. What is pushed or provided there is. Makes no version.
    ///
    /// # Errors
    /// `operation-not-supported` for other datastores, `resource-denied` over [`WITHHELD_MAX`].
    pub fn withhold(&self, paths: &[InstancePath]) -> Result<()> {
        let known = self.withheld()?;
        if known.len() + paths.len() > WITHHELD_MAX {
            let message = format!("at most {WITHHELD_MAX} paths are withheld (WITHHELD_MAX)");
            return Err(Error::data(ErrorTag::ResourceDenied, message));
        }
        self.change_withheld(paths, |batch, key, text| batch.put(key, text))
    }

    /// Takes back what [`Self::withhold`] said of these paths.
    ///
    /// # Errors
    /// `operation-not-supported` for other datastores.
    pub fn release(&self, paths: &[InstancePath]) -> Result<()> {
        self.change_withheld(paths, |batch, key, _| batch.delete(key))
    }

    /// The configuration that is not in use.
    ///
    /// # Errors
    /// `operation-not-supported` for other datastores.
    pub fn withheld(&self) -> Result<Vec<InstancePath>> {
        self.check_operational()?;
        let snapshot = self.store().driver().snapshot()?;
        paths(&*snapshot, self.schema(), self.id())
    }

    fn change_withheld(
        &self,
        paths: &[InstancePath],
        change: impl Fn(&mut Batch, Vec<u8>, String),
    ) -> Result<()> {
        self.check_operational()?;
        let mut batch = Batch::new();
        let anchor = self.anchor();
        batch.require(anchor.key.clone(), Some(anchor.value.clone()));
        for path in paths {
            let text = path.to_instance_identifier(self.schema());
            let mut key = self.id().prefix(Subspace::Withheld);
            tuple::put_bytes(&mut key, text.as_bytes());
            change(&mut batch, key, text);
        }
        match self.store().driver().commit(batch) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.check_anchor(&error)?;
                Err(error.into())
            }
        }
    }

    fn check_operational(&self) -> Result<()> {
        if self.datastore() == Datastore::Operational {
            return Ok(());
        }
        let message = "only the operational state withholds configuration";
        Err(Error::data(ErrorTag::OperationNotSupported, message))
    }
}

/// What is withheld, as a snapshot has it. Paths that the schema no longer has say nothing.
fn paths(snapshot: &dyn Snapshot, schema: &Schema, tree: TreeId) -> Result<Vec<InstancePath>> {
    let range = KeyRange::prefix(&tree.prefix(Subspace::Withheld));
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    let mut paths = Vec::new();
    while let Some((_, value)) = cursor.next()? {
        let text = std::str::from_utf8(value);
        let text = text.map_err(|_| Error::corrupt("a withheld path is not UTF-8"))?;
        match InstancePath::parse_cli_path(schema, text) {
            Ok(path) => paths.push(path),
            Err(error) => tracing::debug!(path = text, %error, "a withheld path is unknown"),
        }
    }
    Ok(paths)
}

/// The snapshot without what is withheld of running.
pub(super) fn without_withheld(
    snapshot: Box<dyn Snapshot + Send>,
    compiled: &Arc<Compiled>,
    tree: TreeId,
) -> Result<Box<dyn Snapshot + Send>> {
    let paths = paths(&*snapshot, &compiled.schema, tree)?;
    if paths.is_empty() {
        return Ok(snapshot);
    }
    let running = TreeId {
        datastore: Datastore::Running.id(),
        ..tree
    };
    let mut overlay = Overlay::new(snapshot);
    let mut applying = Applying::new(&mut overlay, compiled, running);
    for path in &paths {
        applying.delete_path(path, Operation::Remove)?;
    }
    Ok(Box::new(overlay))
}
