//! The stored record of a schema set: the modules, by the hash of their text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use espalier_keyspace::{Batch, Precondition, Snapshot};
use espalier_yang::schema::{Features, ModuleSource, MountSource, MountedSchemas, SchemaSource};
use serde::{Deserialize, Serialize};

use super::keys;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::node_numbers::Layout;
use crate::stored_schema;

/// What a schema set is called in errors.
pub(super) const KIND: &str = "schema set";

/// The stored form: the modules by the hash of their text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub id: u64,
    #[serde(flatten)]
    schema: SchemaRecord,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mounts: Vec<MountRecord>,
}

/// The stored form of a schema without what is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SchemaRecord {
    modules: Vec<ModuleRecord>,
    implement: Vec<String>,
    features: BTreeMap<String, Features>,
}

/// The stored form of a [`MountSource`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MountRecord {
    module: String,
    label: String,
    schemas: MountedRecord,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MountedRecord {
    #[serde(rename_all = "kebab-case")]
    SharedSchema {
        schema: SchemaRecord,
        parent_references: Vec<String>,
    },
    Inline {
        selector: String,
        schemas: BTreeMap<String, SchemaRecord>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ModuleRecord {
    name: String,
    revision: Option<String>,
    hash: String,
}

// A digest, because counts are equal in stores that were replaced: docs/decisions/0014.
/// A precondition that the modules of a schema set are those in the snapshot. Every commit requires it, so
/// that no data is validated against replaced modules.
pub(crate) fn modules_precondition(
    snapshot: &dyn Snapshot,
    record: &Record,
) -> Result<Precondition> {
    let key = keys::upgrades(record.id);
    let value = snapshot.get(&key)?.map(Cow::into_owned);
    Ok(Precondition { key, value })
}

/// Bytes of the digest of modules and numbers.
const DIGEST_BYTES: usize = 16;

/// The value of the upgrades row: how often the modules were put, and a digest of the modules and of their
/// node numbers. The count alone is not enough: a store copied over this one may have the same count with
/// other modules.
fn next_upgrade(snapshot: &dyn Snapshot, key: &[u8], parts: &[&[u8]]) -> Result<Vec<u8>> {
    let count = match snapshot.get(key)? {
        Some(value) => take_varint(&mut &*value)?,
        None => 0,
    };
    let mut digest = blake3::Hasher::new();
    for part in parts {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut value = Vec::new();
    put_varint(&mut value, count + 1);
    value.extend_from_slice(&digest.finalize().as_bytes()[..DIGEST_BYTES]);
    Ok(value)
}

/// Puts the record of a schema set and the texts of its modules into the batch. Returns the record, and the
/// precondition that holds while the set has these modules.
pub(super) fn put_record(
    snapshot: &dyn Snapshot,
    key: &[u8],
    id: u64,
    (source, layout): (&SchemaSource, &Layout),
    batch: &mut Batch,
) -> Result<(Record, Precondition)> {
    let record = Record::new(id, source);
    for module in source.all_modules() {
        let hash = hash_of(module);
        batch.put(keys::module(hash.as_bytes()), module.text.as_bytes());
    }
    let row = record.encode()?;
    let upgrades = keys::upgrades(id);
    let value = next_upgrade(snapshot, &upgrades, &[&row, &layout.id_bytes()])?;
    batch.put(upgrades.clone(), value.clone());
    batch.put(key.to_vec(), row);
    batch.delete_range(stored_schema::rows_of(id));
    let modules_precondition = Precondition {
        key: upgrades,
        value: Some(value),
    };
    Ok((record, modules_precondition))
}

impl Record {
    /// The stored form.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::corrupt(error.to_string()))
    }

    /// Reads the stored form.
    pub fn decode(value: &[u8]) -> Result<Self> {
        serde_json::from_slice(value)
            .map_err(|error| Error::corrupt(format!("a schema set in the catalog: {error}")))
    }

    /// The record of these modules.
    fn new(id: u64, source: &SchemaSource) -> Self {
        Self {
            id,
            schema: SchemaRecord::new(source),
            mounts: source.mounts.iter().map(MountRecord::new).collect(),
        }
    }

    /// Whether it is the record of these modules.
    pub fn is_of(&self, source: &SchemaSource) -> bool {
        *self == Self::new(self.id, source)
    }

    /// The hashes of the texts of its modules.
    pub fn hashes(&self) -> impl Iterator<Item = &str> {
        let mounted = self.mounts.iter().flat_map(|mount| mount.schemas.all());
        std::iter::once(&self.schema)
            .chain(mounted)
            .flat_map(|schema| &schema.modules)
            .map(|module| module.hash.as_str())
    }

    /// The modules with their texts.
    pub fn source(&self, snapshot: &dyn Snapshot) -> Result<SchemaSource> {
        let mounts = self.mounts.iter().map(|mount| mount.source(snapshot));
        Ok(SchemaSource {
            mounts: mounts.collect::<Result<_>>()?,
            ..self.schema.source(snapshot)?
        })
    }
}

impl SchemaRecord {
    fn new(source: &SchemaSource) -> Self {
        Self {
            modules: source.modules.iter().map(ModuleRecord::new).collect(),
            implement: source.implement.clone(),
            features: source.features.clone(),
        }
    }

    fn source(&self, snapshot: &dyn Snapshot) -> Result<SchemaSource> {
        let modules = self.modules.iter().map(|module| module.source(snapshot));
        Ok(SchemaSource {
            modules: modules.collect::<Result<_>>()?,
            implement: self.implement.clone(),
            features: self.features.clone(),
            mounts: Vec::new(),
        })
    }
}

impl MountRecord {
    fn new(mount: &MountSource) -> Self {
        let schemas = match &mount.schemas {
            MountedSchemas::Shared {
                schema,
                parent_references,
            } => MountedRecord::SharedSchema {
                schema: SchemaRecord::new(schema),
                parent_references: parent_references.clone(),
            },
            MountedSchemas::Inline { selector, schemas } => MountedRecord::Inline {
                selector: selector.clone(),
                schemas: schemas
                    .iter()
                    .map(|(name, schema)| (name.clone(), SchemaRecord::new(schema)))
                    .collect(),
            },
        };
        Self {
            module: mount.module.clone(),
            label: mount.label.clone(),
            schemas,
        }
    }

    fn source(&self, snapshot: &dyn Snapshot) -> Result<MountSource> {
        let schemas = match &self.schemas {
            MountedRecord::SharedSchema {
                schema,
                parent_references,
            } => MountedSchemas::Shared {
                schema: schema.source(snapshot)?,
                parent_references: parent_references.clone(),
            },
            MountedRecord::Inline { selector, schemas } => MountedSchemas::Inline {
                selector: selector.clone(),
                schemas: schemas
                    .iter()
                    .map(|(name, schema)| Ok((name.clone(), schema.source(snapshot)?)))
                    .collect::<Result<_>>()?,
            },
        };
        Ok(MountSource {
            module: self.module.clone(),
            label: self.label.clone(),
            schemas,
        })
    }
}

impl MountedRecord {
    fn all(&self) -> impl Iterator<Item = &SchemaRecord> {
        let (shared, inline) = match self {
            Self::SharedSchema { schema, .. } => (Some(schema), None),
            Self::Inline { schemas, .. } => (None, Some(schemas.values())),
        };
        shared.into_iter().chain(inline.into_iter().flatten())
    }
}

impl ModuleRecord {
    fn new(module: &ModuleSource) -> Self {
        Self {
            name: module.name.clone(),
            revision: module.revision.clone(),
            hash: hash_of(module),
        }
    }

    fn source(&self, snapshot: &dyn Snapshot) -> Result<ModuleSource> {
        let text = snapshot.get(&keys::module(self.hash.as_bytes()))?;
        let Some(text) = text else {
            let what = format!("the text of module {} is missing", self.name);
            return Err(Error::corrupt(what));
        };
        let text = String::from_utf8(text.into_owned());
        Ok(ModuleSource {
            name: self.name.clone(),
            revision: self.revision.clone(),
            text: text.map_err(|_| {
                Error::corrupt(format!(
                    "the text of module {} is not valid text",
                    self.name
                ))
            })?,
        })
    }
}

/// The stored record of a schema set.
pub(super) fn record(snapshot: &dyn Snapshot, dataspace: u64, name: &str) -> Result<Record> {
    Record::decode(&set_row(snapshot, dataspace, name)?.1)
}

/// The key and the value of the row of a schema set.
pub(super) fn set_row<'s>(
    snapshot: &'s dyn Snapshot,
    dataspace: u64,
    name: &str,
) -> Result<(Vec<u8>, Cow<'s, [u8]>)> {
    let key = keys::schema_set(dataspace, name);
    match snapshot.get(&key)? {
        Some(row) => Ok((key, row)),
        None => Err(Error::Unknown {
            kind: KIND,
            name: name.to_owned(),
        }),
    }
}

/// The hash under which the text of a module is stored.
pub(super) fn hash_of(module: &ModuleSource) -> String {
    blake3::hash(module.text.as_bytes()).to_hex()[..32].to_owned()
}
