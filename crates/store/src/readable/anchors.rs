//! From the number of an anchor, as keys have it, to its name and its schema.

use std::sync::Arc;

use espalier_keyspace::Snapshot;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::catalog::{AnchorRow, anchors_of, dataspaces_of};
use crate::error::Result;
use crate::store::{Compiled, Schemas, catalog_changes};

/// An anchor and its schema.
pub(super) struct Anchored {
    pub(super) dataspace: String,
    pub(super) row: AnchorRow,
    pub(super) compiled: Arc<Compiled>,
}

/// The anchors that were asked for, as they were at a state of the catalog.
#[derive(Default)]
pub(super) struct Anchors {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The number of changes of the catalog, as stored.
    changes: Option<Vec<u8>>,
    anchors: FxHashMap<u64, Arc<Anchored>>,
}

impl Anchors {
    /// The anchor of a number; `None` where it was deleted. Linear in the number of anchors where the
    /// catalog has changed since the last call.
    pub(super) fn get(
        &self,
        schemas: &Schemas,
        state: &dyn Snapshot,
        id: u64,
    ) -> Result<Option<Arc<Anchored>>> {
        let changes = catalog_changes(state)?;
        let mut known = self.known.lock();
        if known.changes != changes {
            known.anchors.clear();
            for_each(schemas, state, &mut |anchored| {
                known.anchors.insert(anchored.row.id, Arc::new(anchored));
                Ok(())
            })?;
            known.changes = changes;
        }
        Ok(known.anchors.get(&id).cloned())
    }
}

/// Visits every anchor of a state, in the order of dataspaces and names.
pub(super) fn for_each(
    schemas: &Schemas,
    state: &dyn Snapshot,
    visit: &mut dyn FnMut(Anchored) -> Result<()>,
) -> Result<()> {
    for dataspace in dataspaces_of(state)? {
        for (row, record) in anchors_of(state, &dataspace)? {
            visit(Anchored {
                dataspace: dataspace.clone(),
                row,
                compiled: schemas.compiled(state, record)?,
            })?;
        }
    }
    Ok(())
}
