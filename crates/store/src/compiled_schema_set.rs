//! Compiled schema sets, and their cache.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use espalier_keyspace::{Batch, Driver, Precondition, Snapshot};
use espalier_yang::validate::ValidationPlan;
use espalier_yang::{NodeId, Schema};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use crate::catalog::{Record, modules_precondition};
use crate::error::{Error, Result};
use crate::node_dictionary;
use crate::node_numbers::Layout;
use crate::stored_schema::{self, Content, SubtreeFlags};

/// Schemas with at least this many nodes are stored in compiled form; smaller ones compile in a few
/// milliseconds.
const STORED_NODES_MIN: usize = 1000;

/// A schema set, compiled and numbered.
#[derive(Debug)]
pub(crate) struct Compiled {
    record: Record,
    /// The precondition of every commit under this schema: see [`modules_precondition`].
    pub modules_precondition: Precondition,
    pub schema: Arc<Schema>,
    pub layout: Layout,
    pub subtree_flags: SubtreeFlags,
    /// See [`Self::plan`].
    plan: OnceLock<ValidationPlan>,
    /// See [`Self::index_definition`].
    index_definition: OnceLock<Vec<u8>>,
    /// The stored form that it was read from; `None` if it was compiled in this process.
    content: Option<Arc<Content>>,
    /// Whether it was compiled in this process and is not yet stored.
    is_to_be_stored: AtomicBool,
}

impl Compiled {
    /// A compiled schema set from a numbered schema.
    pub fn new(
        (record, modules_precondition): (Record, Precondition),
        schema: Arc<Schema>,
        layout: Layout,
    ) -> Self {
        let subtree_flags = SubtreeFlags::of(&schema);
        let is_large = schema.nodes().len() >= STORED_NODES_MIN;
        Self {
            record,
            modules_precondition,
            schema,
            layout,
            subtree_flags,
            plan: OnceLock::new(),
            index_definition: OnceLock::new(),
            content: None,
            is_to_be_stored: AtomicBool::new(is_large),
        }
    }

    /// The same, stored in the catalog as this record.
    pub fn with_record(self, (record, modules_precondition): (Record, Precondition)) -> Self {
        Self {
            record,
            modules_precondition,
            ..self
        }
    }

    /// The stored compilation of a schema set in a snapshot; `None` if there is none that is up to date.
    fn stored(
        snapshot: &dyn Snapshot,
        (record, modules_precondition): (&Record, &Precondition),
    ) -> Result<Option<Self>> {
        let fingerprint = stored_schema::fingerprint(record, modules_precondition);
        let content = stored_schema::read(snapshot, record.id, fingerprint)?;
        let content = content.map(Arc::new);
        let unpacked = |content: &Arc<Content>| {
            let schema = content.schema()?;
            Some(Self {
                record: record.clone(),
                modules_precondition: modules_precondition.clone(),
                layout: content.layout(&schema)?,
                subtree_flags: content.subtree_flags(&schema)?,
                schema: Arc::new(schema),
                plan: OnceLock::new(),
                index_definition: OnceLock::from(content.index_definition()?),
                content: Some(Arc::clone(content)),
                is_to_be_stored: AtomicBool::new(false),
            })
        };
        Ok(content.as_ref().and_then(unpacked))
    }

    /// Stores a compiled schema set, so that the next process does not compile it. If this fails (the engine
    /// is read-only, or another process was faster), the next process compiles it.
    pub fn store(&self, driver: &dyn Driver) {
        if !self.is_to_be_stored.swap(false, Ordering::Relaxed) || !driver.capability().durable {
            return;
        }
        let Some(content) = Content::pack(self) else {
            return;
        };
        let Precondition { key, value } = self.modules_precondition.clone();
        let fingerprint = stored_schema::fingerprint(&self.record, &self.modules_precondition);
        let mut batch = Batch::new();
        batch.require(key, value);
        stored_schema::write(&mut batch, self.record.id, fingerprint, &content);
        if let Err(error) = driver.commit(batch) {
            tracing::debug!(%error, "a compiled schema set is not stored");
        }
    }

    /// The constraints, compiled on first use: reading data needs none.
    pub fn plan(&self) -> &ValidationPlan {
        self.plan.get_or_init(|| {
            let content = self.content.as_ref();
            let stored = content.and_then(|content| content.plan(&self.schema));
            stored.unwrap_or_else(|| ValidationPlan::compile(&self.schema))
        })
    }

    /// The indexes and counts that the constraints need, encoded; empty if none.
    pub fn index_definition(&self) -> &[u8] {
        self.index_definition
            .get_or_init(|| index_definition(&self.schema, self.plan()))
    }

    /// Whether a node or something below it is state (`config false`).
    pub fn contains_state(&self, node: NodeId) -> bool {
        self.subtree_flags.state[node.0 as usize]
    }

    /// Whether a node or something below it is a list or leaf-list kept in order.
    pub fn contains_order(&self, node: NodeId) -> bool {
        self.subtree_flags.order[node.0 as usize]
    }

    /// Whether any node of the schema is a list or leaf-list kept in order.
    pub fn contains_order_anywhere(&self) -> bool {
        let mut roots = self.schema.roots().iter();
        roots.any(|&root| self.contains_order(root))
    }
}

/// The cache of compiled schema sets.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache {
    compiled: RwLock<FxHashMap<u64, Arc<Compiled>>>,
    /// By the key of their row: the row, and what was compiled from it.
    by_row: RwLock<FxHashMap<Vec<u8>, CompiledRow>>,
    /// Held while a schema set is read or compiled, so that it is done once for many anchors at the same time.
    loading: Mutex<()>,
    /// The most recently used schemas of older versions.
    past: Mutex<Vec<Arc<Compiled>>>,
}

/// At most this many compiled schemas of older versions are cached.
const PAST_SCHEMAS_MAX: usize = 4;

/// The row of a schema set, and what was compiled from it.
type CompiledRow = (Vec<u8>, Arc<Compiled>);

impl SchemaCache {
    /// The schema set of a row in a snapshot. The row has an entry for each module; if it is known, it is not decoded.
    pub fn compiled_row(
        &self,
        snapshot: &dyn Snapshot,
        (key, row): (Vec<u8>, &[u8]),
    ) -> Result<Arc<Compiled>> {
        let by_row = self.by_row.read();
        let known = by_row.get(&key).filter(|(known, _)| known == row);
        let known = known.map(|(_, compiled)| Arc::clone(compiled));
        drop(by_row);
        if let Some(compiled) = known {
            let Precondition { key, value } = &compiled.modules_precondition;
            if snapshot.get(key)?.as_deref() == value.as_deref() {
                return Ok(compiled);
            }
        }
        let compiled = self.compiled(snapshot, Record::decode(row)?)?;
        let known = (row.to_vec(), Arc::clone(&compiled));
        self.by_row.write().insert(key, known);
        Ok(compiled)
    }

    /// A schema set as it is in a snapshot.
    pub fn compiled(&self, snapshot: &dyn Snapshot, record: Record) -> Result<Arc<Compiled>> {
        let modules_precondition = modules_precondition(snapshot, &record)?;
        let cached = || {
            let cached = self.compiled.read().get(&record.id).cloned();
            cached.filter(|compiled| {
                compiled.record == record && compiled.modules_precondition == modules_precondition
            })
        };
        if let Some(compiled) = cached() {
            return Ok(compiled);
        }
        let _once = self.loading.lock();
        if let Some(compiled) = cached() {
            return Ok(compiled);
        }
        let compiled = match Compiled::stored(snapshot, (&record, &modules_precondition))? {
            Some(stored) => stored,
            None => compile(snapshot, (record, modules_precondition))?,
        };
        Ok(self.keep(compiled))
    }

    /// Caches a compiled schema set.
    pub fn keep(&self, compiled: Compiled) -> Arc<Compiled> {
        let compiled = Arc::new(compiled);
        let id = compiled.record.id;
        self.compiled.write().insert(id, Arc::clone(&compiled));
        compiled
    }

    /// The schema set of older versions. Commits under it require the modules that the snapshot has.
    pub fn compiled_past(&self, snapshot: &dyn Snapshot, record: Record) -> Result<Arc<Compiled>> {
        let modules_precondition = modules_precondition(snapshot, &record)?;
        let mut past = self.past.lock();
        let is_it = |compiled: &Arc<Compiled>| {
            compiled.record == record && compiled.modules_precondition == modules_precondition
        };
        if let Some(at) = past.iter().position(is_it) {
            let compiled = past.remove(at);
            past.push(Arc::clone(&compiled));
            return Ok(compiled);
        }
        let compiled = Arc::new(compile(snapshot, (record, modules_precondition))?);
        if past.len() == PAST_SCHEMAS_MAX {
            past.remove(0);
        }
        past.push(Arc::clone(&compiled));
        Ok(compiled)
    }
}

/// Compiles a schema set from its modules.
fn compile(
    snapshot: &dyn Snapshot,
    (record, modules_precondition): (Record, Precondition),
) -> Result<Compiled> {
    let compiled = Schema::compile(&record.source(snapshot)?);
    let schema = compiled.map_err(|error| {
        Error::corrupt(format!("the stored modules no longer compile: {error}"))
    })?;
    let (layout, new_numbers) = node_dictionary::number(&schema, snapshot)?;
    if !new_numbers.is_empty() {
        return Err(Error::corrupt(
            "the node dictionary lacks nodes of a stored schema set",
        ));
    }
    Ok(Compiled::new(
        (record, modules_precondition),
        Arc::new(schema),
        layout,
    ))
}

/// The definition of the indexes that the rules of a schema need; empty if none.
fn index_definition(schema: &Schema, plan: &ValidationPlan) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    let mut is_any = false;
    for node in schema.nodes() {
        let uniques = node.as_list().map_or(0, |list| list.unique.len());
        let is_indexed = plan.is_indexed(node.id);
        let is_counted = plan.is_counted(node.id);
        let is_summed = plan.is_summed(node.id);
        let is_ordered = plan.is_ordered(node.id);
        if is_summed || is_ordered {
            is_any = true;
            let line = format!("{} {is_summed} {is_ordered}\n", schema.path(node.id));
            hasher.update(line.as_bytes());
        }
        if uniques > 0 || is_indexed || is_counted {
            is_any = true;
            let unique = node.as_list().map(|list| {
                let names = list.unique.iter().flatten().map(|&leaf| schema.path(leaf));
                names.collect::<Vec<_>>().join(" ")
            });
            let line = format!(
                "{} {is_indexed} {is_counted} {}\n",
                schema.path(node.id),
                unique.unwrap_or_default()
            );
            hasher.update(line.as_bytes());
        }
    }
    match is_any {
        true => hasher.finalize().as_bytes()[..16].to_vec(),
        false => Vec::new(),
    }
}
