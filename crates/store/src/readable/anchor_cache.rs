//! A cache from anchor ids in keys to the anchors' names and schemas.

use std::sync::Arc;

use espalier_keyspace::Snapshot;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::catalog::{AnchorRow, anchors_of, dataspaces_of};
use crate::compiled_schema_set::{Compiled, SchemaCache};
use crate::error::Result;
use crate::store::catalog_changes;

/// An anchor and its schema.
pub(super) struct ResolvedAnchor {
    pub(super) dataspace: String,
    pub(super) row: AnchorRow,
    pub(super) compiled: Arc<Compiled>,
}

/// The anchors that were looked up, valid for one state of the catalog.
#[derive(Default)]
pub(super) struct AnchorCache {
    cache: Mutex<CacheState>,
}

#[derive(Default)]
struct CacheState {
    /// The catalog's change counter, as stored.
    changes: Option<Vec<u8>>,
    anchors: FxHashMap<u64, Arc<ResolvedAnchor>>,
}

impl AnchorCache {
    /// The anchor with an id; `None` if it was deleted. Linear in the number of anchors if the catalog has
    /// changed since the last call.
    pub(super) fn get(
        &self,
        schemas: &SchemaCache,
        state: &dyn Snapshot,
        id: u64,
    ) -> Result<Option<Arc<ResolvedAnchor>>> {
        let changes = catalog_changes(state)?;
        let mut cache = self.cache.lock();
        if cache.changes != changes {
            cache.anchors.clear();
            for_each(schemas, state, &mut |anchor| {
                cache.anchors.insert(anchor.row.id, Arc::new(anchor));
                Ok(())
            })?;
            cache.changes = changes;
        }
        Ok(cache.anchors.get(&id).cloned())
    }
}

/// Visits every anchor of a snapshot, ordered by dataspace and name.
pub(super) fn for_each(
    schemas: &SchemaCache,
    state: &dyn Snapshot,
    visit: &mut dyn FnMut(ResolvedAnchor) -> Result<()>,
) -> Result<()> {
    for dataspace in dataspaces_of(state)? {
        for (row, record) in anchors_of(state, &dataspace)? {
            visit(ResolvedAnchor {
                dataspace: dataspace.clone(),
                row,
                compiled: schemas.compiled(state, record)?,
            })?;
        }
    }
    Ok(())
}
