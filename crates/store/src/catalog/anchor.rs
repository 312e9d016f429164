//! Anchors: named data trees, each bound to a schema set.

use std::sync::Arc;

use espalier_keyspace::{Batch, KeyRange, Snapshot};

use super::anchor_row::AnchorRow;
use super::dataspace::dataspace_id;
use super::schema_set_row::{Record, record, set_row};
use super::validation_level::Validation;
use super::{keys, name};
use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::keys::{TreeId, anchor_prefix};
use crate::store::Store;
use crate::subspace::Subspace;
use crate::tree::{Datastore, Stamp, StampRecord, Tree, stamp_key};

const KIND: &str = "anchor";

/// Follows the schema set name of an anchor whose constraints are not validated; no name contains it.
const STRUCTURE_ONLY_SUFFIX: char = '\u{1}';

/// An anchor, as the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorInfo {
    /// Its name.
    pub name: String,
    /// The schema set it is bound to.
    pub schema_set: String,
    /// Its number in keys, never reused.
    pub id: u64,
    /// How much of the model its data must meet.
    pub validation: Validation,
}

impl Store {
    /// Creates an anchor with no data.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::BadName`], [`Error::Unknown`] for dataspace and schema set.
    pub fn create_anchor(&self, dataspace: &str, name: &str, schema_set: &str) -> Result<()> {
        name::check(KIND, name)?;
        self.change_catalog(|snapshot, batch| {
            let dataspace = dataspace_id(snapshot, dataspace)?;
            let set = record(snapshot, dataspace, schema_set)?;
            let key = keys::anchor(dataspace, name);
            if snapshot.get(&key)?.is_some() {
                return Err(Error::Exists {
                    kind: KIND,
                    name: name.to_owned(),
                });
            }
            let id = Self::allocate_id(snapshot, batch)?;
            batch.put(key, encode(id, schema_set, Validation::default()));
            batch.put(keys::use_by(dataspace, set.id, id), name.as_bytes());
            // The creation time: it is running's last-modified time until the first commit.
            let made = Stamp {
                version: 0,
                time: self.now(),
            };
            let record = StampRecord {
                any: made,
                whole: made,
            };
            let running = TreeId {
                anchor: id,
                datastore: Datastore::Running.id(),
            };
            let root = running.prefix(Subspace::Tree);
            batch.put(stamp_key(&root), record.encode());
            Ok(())
        })
    }

    /// One anchor.
    pub fn anchor(&self, dataspace: &str, name: &str) -> Result<AnchorInfo> {
        let snapshot = self.driver().snapshot()?;
        info(&*snapshot, dataspace_id(&*snapshot, dataspace)?, name)
    }

    /// At most `limit` anchors of a dataspace, by name, those after `after`.
    pub fn anchors(
        &self,
        dataspace: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<AnchorInfo>> {
        let from = after.map(|after| [after.as_bytes(), &[0]].concat());
        self.anchors_from(dataspace, &from.unwrap_or_default(), limit)
    }

    /// At most `limit` anchors of a dataspace, by name: those not before `from`, which need not be a name.
    pub fn anchors_from(
        &self,
        dataspace: &str,
        from: &[u8],
        limit: usize,
    ) -> Result<Vec<AnchorInfo>> {
        let snapshot = self.driver().snapshot()?;
        let prefix = keys::anchors(dataspace_id(&*snapshot, dataspace)?);
        let mut anchors = Vec::new();
        Self::each_named(&*snapshot, (&prefix, from), limit, &mut |name, value| {
            anchors.push(decode(name, value)?);
            Ok(())
        })?;
        Ok(anchors)
    }

    /// Sets how much of the model the data of an anchor must meet. Trees that are already open keep the old
    /// setting, and their commits are rejected.
    ///
    /// # Errors
    /// [`Error::Data`] with every violation if the data must be valid from now on and are not.
    pub fn set_validation(
        &self,
        dataspace: &str,
        name: &str,
        validation: Validation,
    ) -> Result<()> {
        if validation == Validation::Full {
            let running = self.tree(dataspace, name, Datastore::Running)?;
            running.validate_whole()?;
        }
        self.change_catalog(|snapshot, batch| {
            let dataspace = dataspace_id(snapshot, dataspace)?;
            let anchor = info(snapshot, dataspace, name)?;
            let row = encode(anchor.id, &anchor.schema_set, validation);
            batch.put(keys::anchor(dataspace, name), row);
            // Indexes and counts are not maintained without full validation; they are rebuilt on demand.
            for subspace in [Subspace::Index, Subspace::Count] {
                batch.delete_range(KeyRange::prefix(&anchor_prefix(subspace, anchor.id)));
            }
            Ok(())
        })
    }

    /// The names of the dataspace of an open tree, and of the schema set in it that its anchor is bound to.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the anchor was deleted.
    pub fn schema_set_of(&self, tree: &Tree) -> Result<(String, String)> {
        let (dataspace, anchor) = self.anchor_of(tree)?;
        Ok((dataspace, anchor.schema_set))
    }

    /// The name of the dataspace of an open tree.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the anchor was deleted.
    pub fn dataspace_of(&self, tree: &Tree) -> Result<String> {
        let (dataspace, _) = self.anchor_of(tree)?;
        Ok(dataspace)
    }

    /// The dataspace and the anchor of an open tree.
    fn anchor_of(&self, tree: &Tree) -> Result<(String, AnchorInfo)> {
        let AnchorRow { id, name, .. } = tree.anchor();
        for dataspace in self.dataspaces()? {
            match self.anchor(&dataspace, name) {
                Ok(anchor) if anchor.id == *id => return Ok((dataspace, anchor)),
                Ok(_) | Err(Error::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Unknown {
            kind: KIND,
            name: name.clone(),
        })
    }

    /// Deletes an anchor with all its data.
    pub fn delete_anchor(&self, dataspace: &str, name: &str) -> Result<()> {
        self.change_catalog(|snapshot, batch| {
            let dataspace = dataspace_id(snapshot, dataspace)?;
            let anchor = info(snapshot, dataspace, name)?;
            let set = record(snapshot, dataspace, &anchor.schema_set)?;
            let key = keys::anchor(dataspace, name);
            batch.delete(key);
            batch.delete(keys::use_by(dataspace, set.id, anchor.id));
            for subspace in Subspace::OF_ANCHORS {
                batch.delete_range(KeyRange::prefix(&anchor_prefix(subspace, anchor.id)));
            }
            Ok(())
        })
    }

    /// An anchor, and the schema of its schema set.
    pub(crate) fn compiled_anchor(
        &self,
        snapshot: &dyn Snapshot,
        dataspace: &str,
        name: &str,
    ) -> Result<(AnchorRow, Arc<Compiled>)> {
        let dataspace = dataspace_id(snapshot, dataspace)?;
        let anchor = info(snapshot, dataspace, name)?;
        let (key, row) = set_row(snapshot, dataspace, &anchor.schema_set)?;
        let compiled = self.schemas().compiled_row(snapshot, (key, &row))?;
        Ok((BoundAnchor { dataspace, anchor }.row(), compiled))
    }

    /// An anchor and the schema set that it is bound to.
    pub(crate) fn bound_anchor(
        snapshot: &dyn Snapshot,
        dataspace: &str,
        name: &str,
    ) -> Result<(BoundAnchor, Record)> {
        let dataspace = dataspace_id(snapshot, dataspace)?;
        let anchor = info(snapshot, dataspace, name)?;
        let set = record(snapshot, dataspace, &anchor.schema_set)?;
        Ok((BoundAnchor { dataspace, anchor }, set))
    }
}

impl Store {
    /// The anchor of a catalog row, and its schema; `None` if the anchor was deleted.
    pub(crate) fn anchor_at(
        &self,
        snapshot: &dyn Snapshot,
        key: &[u8],
    ) -> Result<Option<(AnchorRow, Arc<Compiled>)>> {
        let Some((dataspace, name)) = keys::anchor_parts(key)? else {
            return Ok(None);
        };
        let Ok(anchor) = info(snapshot, dataspace, name) else {
            return Ok(None);
        };
        let set = record(snapshot, dataspace, &anchor.schema_set)?;
        let bound = BoundAnchor { dataspace, anchor };
        Ok(Some((bound.row(), self.compiled(snapshot, set)?)))
    }
}

/// The anchors of a dataspace in a snapshot, by name, with their schema sets.
pub(crate) fn anchors_of(
    state: &dyn Snapshot,
    dataspace: &str,
) -> Result<Vec<(AnchorRow, Record)>> {
    let id = dataspace_id(state, dataspace)?;
    let names = Store::names(state, &keys::anchors(id), &[], usize::MAX)?;
    let bound = |name: &String| {
        let (anchor, record) = Store::bound_anchor(state, dataspace, name)?;
        Ok((anchor.row(), record))
    };
    names.iter().map(bound).collect()
}

/// An anchor with the id of its dataspace.
pub(crate) struct BoundAnchor {
    dataspace: u64,
    anchor: AnchorInfo,
}

impl BoundAnchor {
    /// The row in the catalog.
    pub fn row(self) -> AnchorRow {
        let AnchorInfo {
            name,
            schema_set,
            id,
            validation,
        } = self.anchor;
        AnchorRow {
            id,
            key: keys::anchor(self.dataspace, &name),
            value: encode(id, &schema_set, validation),
            name,
            validation,
        }
    }
}

/// Sets an anchor to [`Validation::Structure`] in a batch.
pub(super) fn set_structure_only(row: &mut AnchorRow, schema_set: &str, batch: &mut Batch) {
    row.validation = Validation::Structure;
    batch.put(
        row.key.clone(),
        encode(row.id, schema_set, Validation::Structure),
    );
    for subspace in [Subspace::Index, Subspace::Count] {
        batch.delete_range(KeyRange::prefix(&anchor_prefix(subspace, row.id)));
    }
}

fn info(snapshot: &dyn Snapshot, dataspace: u64, name: &str) -> Result<AnchorInfo> {
    let value = snapshot.get(&keys::anchor(dataspace, name))?;
    let value = value.ok_or_else(|| Error::Unknown {
        kind: KIND,
        name: name.to_owned(),
    })?;
    decode(name, &value)
}

fn decode(name: &str, value: &[u8]) -> Result<AnchorInfo> {
    let mut rest = value;
    let id = take_varint(&mut rest)?;
    let schema_set = std::str::from_utf8(rest)
        .map_err(|_| Error::corrupt("the schema set of an anchor is not UTF-8"))?;
    let (schema_set, validation) = match schema_set.strip_suffix(STRUCTURE_ONLY_SUFFIX) {
        Some(schema_set) => (schema_set, Validation::Structure),
        None => (schema_set, Validation::Full),
    };
    Ok(AnchorInfo {
        name: name.to_owned(),
        schema_set: schema_set.to_owned(),
        id,
        validation,
    })
}

/// The number of an anchor, in the value of its row.
pub(crate) fn id_in(value: &[u8]) -> Result<u64> {
    take_varint(&mut &*value)
}

fn encode(id: u64, schema_set: &str, validation: Validation) -> Vec<u8> {
    let mut value = Vec::new();
    put_varint(&mut value, id);
    value.extend_from_slice(schema_set.as_bytes());
    if validation == Validation::Structure {
        value.push(STRUCTURE_ONLY_SUFFIX as u8);
    }
    value
}
