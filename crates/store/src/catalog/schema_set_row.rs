//! The stored record of a schema set: the modules, by the hash of their text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use espalier_keyspace::{Batch, Precondition, Snapshot};
use espalier_yang::schema::{Features, ModuleSource, SchemaSource};
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
    modules: Vec<ModuleRecord>,
    implement: Vec<String>,
    features: BTreeMap<String, Features>,
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
    let modules = source
        .modules
        .iter()
        .map(|module| put_module(module, batch))
        .collect();
    let record = Record {
        id,
        modules,
        implement: source.implement.clone(),
        features: source.features.clone(),
    };
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

    /// Whether it is the record of these modules.
    pub fn is_of(&self, source: &SchemaSource) -> bool {
        let is_same = |(module, given): (&ModuleRecord, &ModuleSource)| {
            (&module.name, &module.revision) == (&given.name, &given.revision)
                && module.hash == hash_of(given)
        };
        self.modules.len() == source.modules.len()
            && self.modules.iter().zip(&source.modules).all(is_same)
            && (&self.implement, &self.features) == (&source.implement, &source.features)
    }

    /// The hashes of the texts of its modules.
    pub fn hashes(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(|module| module.hash.as_str())
    }

    /// The modules with their texts.
    pub fn source(&self, snapshot: &dyn Snapshot) -> Result<SchemaSource> {
        let modules = self
            .modules
            .iter()
            .map(|module| module.source(snapshot))
            .collect::<Result<_>>()?;
        Ok(SchemaSource {
            modules,
            implement: self.implement.clone(),
            features: self.features.clone(),
        })
    }
}

impl ModuleRecord {
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

fn put_module(module: &ModuleSource, batch: &mut Batch) -> ModuleRecord {
    let hash = hash_of(module);
    batch.put(keys::module(hash.as_bytes()), module.text.as_bytes());
    ModuleRecord {
        name: module.name.clone(),
        revision: module.revision.clone(),
        hash,
    }
}
