//! Schema sets: named sets of YANG modules.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, ErrorKind, KeyRange, Precondition, Snapshot};
use espalier_yang::Schema;
use espalier_yang::schema::{Features, ModuleSource, SchemaSource};
use serde::{Deserialize, Serialize};

use super::anchor::{AnchorInfo, Validation};
use super::dataspace::dataspace_id;
use super::{keys, name};
use crate::dictionary;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::store::{Compiled, Store};
use crate::tree::{Datastore, Tree};

const KIND: &str = "schema set";

/// How often data are validated again that changed while they were.
const UPGRADE_TRIES_MAX: usize = 8;

/// Anchors are read this many at a time.
const ANCHORS_AT_ONCE: usize = 1000;

/// A schema set, as the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaSetInfo {
    /// Its name.
    pub name: String,
    /// What it is compiled from.
    pub source: SchemaSource,
}

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

impl Store {
    /// Compiles the modules and stores them under a name.
    ///
    /// # Errors
    /// [`Error::Schema`] with every error of the modules, [`Error::Exists`], [`Error::BadName`].
    pub fn create_schema_set(
        &self,
        dataspace: &str,
        name: &str,
        source: &SchemaSource,
    ) -> Result<()> {
        name::check(KIND, name)?;
        let schema = Schema::compile(source)?;
        let texts = (source, &schema);
        self.put_schema_set(dataspace, name, texts, &[], |stored| match stored {
            Some(_) => Err(Error::Exists {
                kind: KIND,
                name: name.to_owned(),
            }),
            None => Ok(None),
        })
    }

    /// Compiles the modules and puts them in place of those of an existing schema set. Trees that are
    /// open keep to the old ones, and their commits are refused. Data of
    /// nodes that both have stays; data of nodes that are gone stays stored and is not shown. The
    /// data of every anchor that uses it are validated first, whole and on all cores, and again
    /// where they changed meanwhile.
    ///
    /// # Errors
    /// [`Error::Schema`], [`Error::Unknown`]; [`Error::Upgrade`] for the first anchor whose data do
    /// not meet the new constraints.
    pub fn upgrade_schema_set(
        &self,
        dataspace: &str,
        name: &str,
        source: &SchemaSource,
    ) -> Result<()> {
        let schema = Arc::new(Schema::compile(source)?);
        let mut tries = 0;
        loop {
            tries += 1;
            let unmoved = self.validate_upgrade(dataspace, name, &schema)?;
            let texts = (source, &*schema);
            let put =
                self.put_schema_set(dataspace, name, texts, &unmoved, |stored| match stored {
                    Some(record) => Ok(Some(record.id)),
                    None => Err(Error::Unknown {
                        kind: KIND,
                        name: name.to_owned(),
                    }),
                });
            match put {
                Err(Error::Engine(error))
                    if error.kind() == ErrorKind::Conflict && tries < UPGRADE_TRIES_MAX => {}
                result => return result,
            }
        }
    }

    /// Validates the anchors of a schema set under other modules. What must hold still when these
    /// are put in place: the data that were validated.
    fn validate_upgrade(
        &self,
        dataspace: &str,
        name: &str,
        schema: &Arc<Schema>,
    ) -> Result<Vec<Precondition>> {
        let mut unmoved = Vec::new();
        let snapshot = self.driver().snapshot()?;
        let old = record(&*snapshot, dataspace_id(&*snapshot, dataspace)?, name)?;
        let (layout, _) = dictionary::number(schema, &*snapshot)?;
        let replaced = same_modules(&*snapshot, &old)?;
        let compiled = Compiled::new((old, replaced), Arc::clone(schema), layout);
        let compiled = Arc::new(compiled);
        if compiled.plan.is_empty() {
            return Ok(unmoved);
        }
        let mut after: Option<String> = None;
        loop {
            let anchors = self.anchors(dataspace, after.as_deref(), ANCHORS_AT_ONCE)?;
            let Some(last) = anchors.last() else {
                return Ok(unmoved);
            };
            after = Some(last.name.clone());
            let is_concerned = |anchor: &&AnchorInfo| {
                anchor.schema_set == name && anchor.validation == Validation::Full
            };
            for anchor in anchors.iter().filter(is_concerned) {
                let (bound, _) = Self::bound_anchor(&*snapshot, dataspace, &anchor.name)?;
                let compiled = Arc::clone(&compiled);
                let tree = Tree::new(self.clone(), bound.row(), compiled, Datastore::Running, "");
                unmoved.extend(tree.unmoved(&*snapshot)?);
                match tree.validate_whole() {
                    Err(Error::Data(errors)) => {
                        let anchor = anchor.name.clone();
                        return Err(Error::Upgrade { anchor, errors });
                    }
                    result => result?,
                }
            }
        }
    }

    fn put_schema_set(
        &self,
        dataspace: &str,
        name: &str,
        (source, schema): (&SchemaSource, &Schema),
        conditions: &[Precondition],
        id: impl Fn(Option<&Record>) -> Result<Option<u64>>,
    ) -> Result<()> {
        self.change_catalog(|snapshot, batch| {
            for Precondition { key, value } in conditions {
                batch.require(key.clone(), value.clone());
            }
            let key = keys::schema_set(dataspace_id(snapshot, dataspace)?, name);
            let record = snapshot
                .get(&key)?
                .map(|value| decode(&value))
                .transpose()?;
            let id = match id(record.as_ref())? {
                Some(id) => id,
                None => Self::allocate_id(snapshot, batch)?,
            };
            let (layout, new_numbers) = dictionary::number(schema, snapshot)?;
            batch.append(new_numbers);
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
            let row = encode(&record)?;
            let upgrades = keys::upgrades(id);
            let value = next_upgrade(snapshot, &upgrades, &[&row, &layout.id_bytes()])?;
            batch.put(upgrades, value);
            batch.put(key, row);
            Ok(())
        })
    }

    /// A schema set with the texts of its modules.
    pub fn schema_set(&self, dataspace: &str, name: &str) -> Result<SchemaSetInfo> {
        let snapshot = self.driver().snapshot()?;
        let record = record(&*snapshot, dataspace_id(&*snapshot, dataspace)?, name)?;
        Ok(SchemaSetInfo {
            name: name.to_owned(),
            source: record.source(&*snapshot)?,
        })
    }

    /// The names of the schema sets of a dataspace, sorted.
    pub fn schema_sets(&self, dataspace: &str) -> Result<Vec<String>> {
        let snapshot = self.driver().snapshot()?;
        let prefix = keys::schema_sets(dataspace_id(&*snapshot, dataspace)?);
        Self::names(&*snapshot, &prefix, None, usize::MAX)
    }

    /// Deletes a schema set that no anchor uses, and the modules that no other schema set has.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::InUse`].
    pub fn delete_schema_set(&self, dataspace: &str, name: &str) -> Result<()> {
        self.change_catalog(|snapshot, batch| {
            let dataspace = dataspace_id(snapshot, dataspace)?;
            let record = record(snapshot, dataspace, name)?;
            let uses = keys::uses(dataspace, record.id);
            if Self::first_below(snapshot, &uses)?.is_some() {
                return Err(Error::InUse {
                    kind: KIND,
                    name: name.to_owned(),
                    by: "an anchor".to_owned(),
                });
            }
            let key = keys::schema_set(dataspace, name);
            let elsewhere = hashes_elsewhere(snapshot, &key)?;
            for module in record
                .modules
                .iter()
                .filter(|module| !elsewhere.contains(&module.hash))
            {
                batch.delete(keys::module(module.hash.as_bytes()));
            }
            batch.delete(keys::upgrades(record.id));
            batch.delete(key);
            Ok(())
        })
    }
}

/// That the modules of a schema set are still those that they are in a snapshot: every commit under
/// them requires it, so that nothing is validated under modules that were replaced.
pub(crate) fn same_modules(snapshot: &dyn Snapshot, record: &Record) -> Result<Precondition> {
    let key = keys::upgrades(record.id);
    let value = snapshot.get(&key)?.map(Cow::into_owned);
    Ok(Precondition { key, value })
}

/// Bytes of the digest of modules and numbers.
const DIGEST_BYTES: usize = 16;

/// How often the modules of a schema set were put, and a digest of what they are now and of how their
/// nodes are numbered: a store that is copied over this one may have put others as often.
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

impl Record {
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
        let text = text.and_then(|text| String::from_utf8(text.into_owned()).ok());
        Ok(ModuleSource {
            name: self.name.clone(),
            revision: self.revision.clone(),
            text: text.ok_or_else(|| {
                Error::corrupt(format!("the text of module {} is gone", self.name))
            })?,
        })
    }
}

/// The stored record of a schema set.
pub(super) fn record(snapshot: &dyn Snapshot, dataspace: u64, name: &str) -> Result<Record> {
    match snapshot.get(&keys::schema_set(dataspace, name))? {
        Some(value) => decode(&value),
        None => Err(Error::Unknown {
            kind: KIND,
            name: name.to_owned(),
        }),
    }
}

fn put_module(module: &ModuleSource, batch: &mut Batch) -> ModuleRecord {
    let hash = blake3::hash(module.text.as_bytes()).to_hex()[..32].to_owned();
    batch.put(keys::module(hash.as_bytes()), module.text.as_bytes());
    ModuleRecord {
        name: module.name.clone(),
        revision: module.revision.clone(),
        hash,
    }
}

fn hashes_elsewhere(snapshot: &dyn Snapshot, except: &[u8]) -> Result<BTreeSet<String>> {
    let range = KeyRange::below(&keys::all_schema_sets());
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    let mut hashes = BTreeSet::new();
    while let Some((key, value)) = cursor.next()? {
        if key != except {
            hashes.extend(decode(value)?.modules.into_iter().map(|module| module.hash));
        }
    }
    Ok(hashes)
}

fn encode(record: &Record) -> Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|error| Error::corrupt(error.to_string()))
}

fn decode(value: &[u8]) -> Result<Record> {
    serde_json::from_slice(value)
        .map_err(|error| Error::corrupt(format!("a schema set in the catalog: {error}")))
}
