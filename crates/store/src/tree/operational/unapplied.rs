//! Configuration that is not in use (RFC 8342 §5.3: configuration that could not be applied is not in the
//! operational state).
//!
//! | key after the tree's prefix | value |
//! |---|---|
//! | the path, as a string element | the path |
//!
//! Paths are stored instead of keys: an entry ordered by user may move, and a node that is recreated
//! remains withheld.

use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot, tuple};
use espalier_yang::data::Operation;
use espalier_yang::{ErrorTag, InstancePath, Schema};

use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::subspace::Subspace;
use crate::tree::datastore::Datastore;
use crate::tree::edit::EditApplier;
use crate::tree::tree::Tree;

/// Maximum number of withheld paths: each is looked up for every view.
pub const UNAPPLIED_PATHS_MAX: usize = 4096;

impl Tree {
    /// Withholds configuration: the content of running at these paths (a list without keys at the end: all
    /// its entries), now and later, is not part of the operational state until it is released. Pushed and
    /// provided data is unaffected. Creates no version.
    ///
    /// # Errors
    /// `operation-not-supported` for other datastores, `resource-denied` beyond [`UNAPPLIED_PATHS_MAX`].
    pub fn mark_unapplied(&self, paths: &[InstancePath]) -> Result<()> {
        let withheld = self.unapplied_paths()?;
        if withheld.len() + paths.len() > UNAPPLIED_PATHS_MAX {
            let message = format!(
                "at most {UNAPPLIED_PATHS_MAX} paths can be withheld (UNAPPLIED_PATHS_MAX)"
            );
            return Err(Error::data(ErrorTag::ResourceDenied, message));
        }
        self.change_withheld(paths, |batch, key, text| batch.put(key, text))
    }

    /// Reverts [`Self::withhold`] for these paths.
    ///
    /// # Errors
    /// `operation-not-supported` for other datastores.
    pub fn mark_applied(&self, paths: &[InstancePath]) -> Result<()> {
        self.change_withheld(paths, |batch, key, _| batch.delete(key))
    }

    /// The withheld configuration.
    ///
    /// # Errors
    /// `operation-not-supported` for other datastores.
    pub fn unapplied_paths(&self) -> Result<Vec<InstancePath>> {
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
        batch.require_all([self.anchor_precondition()]);
        for path in paths {
            let text = path.to_instance_identifier(self.schema());
            let mut key = self.id().prefix(Subspace::Unapplied);
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
        let message = "configuration can be withheld only from the operational datastore";
        Err(Error::data(ErrorTag::OperationNotSupported, message))
    }
}

/// The withheld paths in a snapshot. Paths that are not in the schema are ignored.
fn paths(snapshot: &dyn Snapshot, schema: &Schema, tree: TreeId) -> Result<Vec<InstancePath>> {
    let range = KeyRange::prefix(&tree.prefix(Subspace::Unapplied));
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

/// The snapshot without the withheld configuration of running.
pub(super) fn without_unapplied(
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
    let mut applier = EditApplier::new(&mut overlay, compiled, running);
    for path in &paths {
        applier.delete_path(path, Operation::Remove)?;
    }
    Ok(Box::new(overlay))
}
