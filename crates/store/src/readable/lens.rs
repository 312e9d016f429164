//! The [`Lens`] of a store: its datastores as documents for drivers with readable files.

use std::io::Write;
use std::sync::Arc;

use espalier_keyspace::tuple::{self, Element};
use espalier_keyspace::{Document, ErrorKind, Lens, ReadableRow, Snapshot};

use super::anchor_cache::{AnchorCache, ResolvedAnchor, for_each};
use super::names::{self, DOCUMENT_DATASTORES};
use super::row::readable;
use crate::compiled_schema_set::SchemaCache;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::store::Store;
use crate::subspace::Subspace;
use crate::tree::{Datastore, TreeState, print_stored, stamp_key};

/// Renders the datastores of a store as documents.
pub(crate) struct StoreLens {
    schemas: Arc<SchemaCache>,
    anchors: AnchorCache,
}

impl StoreLens {
    /// The lens of a store with these schemas.
    pub(crate) fn new(schemas: Arc<SchemaCache>) -> Self {
        Self {
            schemas,
            anchors: AnchorCache::default(),
        }
    }

    fn all(&self, state: &dyn Snapshot) -> Result<Vec<Document>> {
        let mut documents = Vec::new();
        for_each(&self.schemas, state, &mut |anchor| {
            for datastore in DOCUMENT_DATASTORES {
                documents.push(document(state, &anchor, datastore)?);
            }
            Ok(())
        })?;
        Ok(documents)
    }

    fn write(&self, state: &dyn Snapshot, name: &str, out: &mut dyn Write) -> Result<()> {
        let (dataspace, anchor, datastore) = names::parse(name).ok_or_else(|| Error::Unknown {
            kind: "document",
            name: name.to_owned(),
        })?;
        let (anchor, record) = Store::bound_anchor(state, &dataspace, &anchor)?;
        let compiled = self.schemas.compiled(state, record)?;
        let tree = TreeId {
            anchor: anchor.row().id,
            datastore: datastore.id(),
        };
        let state = TreeState::new(state, &compiled, tree);
        print_stored(state, out)
    }

    fn show(&self, state: &dyn Snapshot, key: &[u8], value: &[u8]) -> Result<Option<ReadableRow>> {
        let Some((tree, datastore)) = tree_of(key)? else {
            return Ok(None);
        };
        let Some(anchor) = self.anchors.get(&self.schemas, state, tree.anchor)? else {
            return Ok(None);
        };
        let title = names::title(&anchor.dataspace, &anchor.row.name, datastore);
        let state = TreeState::new(state, &anchor.compiled, tree);
        readable(state, title, key, value)
    }
}

/// The tree that a key of [`Subspace::Tree`] belongs to, if its datastore is shown as a document.
fn tree_of(key: &[u8]) -> Result<Option<(TreeId, Datastore)>> {
    let Some((_, mut rest)) = key
        .split_first()
        .filter(|(subspace, _)| **subspace == Subspace::Tree as u8)
    else {
        return Ok(None);
    };
    let Element::Integer(anchor) = tuple::take(&mut rest)? else {
        return Err(Error::corrupt("a key of the tree has no anchor"));
    };
    let (Ok(anchor), Some(&id)) = (u64::try_from(anchor), rest.first()) else {
        return Err(Error::corrupt("a key of the tree has no datastore"));
    };
    let datastore = DOCUMENT_DATASTORES
        .into_iter()
        .find(|datastore| datastore.id() == id);
    let tree = TreeId {
        anchor,
        datastore: id,
    };
    Ok(datastore.map(|datastore| (tree, datastore)))
}

fn document(
    state: &dyn Snapshot,
    anchor: &ResolvedAnchor,
    datastore: Datastore,
) -> Result<Document> {
    let tree = TreeId {
        anchor: anchor.row.id,
        datastore: datastore.id(),
    };
    let stamp = state.get(&stamp_key(&tree.prefix(Subspace::Tree)))?;
    // Running always exists, so that a new anchor has a document to edit.
    let exists = stamp.is_some() || datastore == Datastore::Running;
    let upgrades = anchor.compiled.modules_precondition.value.as_deref();
    Ok(Document {
        name: names::name(&anchor.dataspace, &anchor.row.name, datastore),
        stamp: exists.then(|| {
            let parts = [
                Some(anchor.row.value.as_slice()),
                upgrades,
                stamp.as_deref(),
            ];
            let mut all = Vec::new();
            for part in parts {
                let part = part.unwrap_or_default();
                all.push(part.len() as u8);
                all.extend_from_slice(part);
            }
            all
        }),
    })
}

impl Lens for StoreLens {
    fn documents(&self, state: &dyn Snapshot) -> espalier_keyspace::Result<Vec<Document>> {
        self.all(state).map_err(engine_error)
    }

    fn print(
        &self,
        state: &dyn Snapshot,
        name: &str,
        out: &mut dyn Write,
    ) -> espalier_keyspace::Result<()> {
        self.write(state, name, out).map_err(engine_error)
    }

    fn row(
        &self,
        state: &dyn Snapshot,
        key: &[u8],
        value: &[u8],
    ) -> espalier_keyspace::Result<Option<ReadableRow>> {
        self.show(state, key, value).map_err(engine_error)
    }
}

fn engine_error(error: Error) -> espalier_keyspace::Error {
    match error {
        Error::Engine(error) => error,
        Error::Corrupt(message) => espalier_keyspace::Error::new(ErrorKind::Corrupt, message),
        other => {
            let message = "the data cannot be shown";
            espalier_keyspace::Error::new(ErrorKind::Engine, message).with_source(other)
        }
    }
}
