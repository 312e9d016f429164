//! A store: a key space with a catalog, and its caches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Direction, Driver, ErrorKind, KeyRange, Precondition, Snapshot, Usage,
};
use espalier_yang::validate::{ValidationCost, ValidationPlan};
use espalier_yang::{NodeId, Schema};
use parking_lot::{Mutex, MutexGuard, RwLock};
use rustc_hash::FxHashMap;

use crate::catalog::{Record, modules_precondition};
use crate::clock::{Clock, ClockWatch, Timestamp};
use crate::dictionary;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::keys::TreeId;
use crate::layout::Layout;
use crate::readable::{StoreLens, apply_edited_document};
use crate::stored_schema::{self, Content, SubtreeFlags};
use crate::subspace::{FORMAT_VERSION, Subspace};
use crate::transfer::reject_unfinished;
use crate::tree::{
    CandidateCache, Datastore, Providers, Registry, Tree, check_session, index_definition,
};

/// How often a change of the catalog is retried if another process changed the same keys.
const CATALOG_TRIES_MAX: u32 = 64;

/// After this many conflicts in a row, a change of the catalog waits before each retry.
const CATALOG_TRIES_WITHOUT_PAUSE: u32 = 4;

/// Counts changes of the catalog.
const CATALOG_CHANGES: &[u8] = b"catalog-changes";

/// Commits to different trees do not wait for each other, up to this many trees.
const TREE_LOCKS: usize = 64;

/// SchemaCache with at least this many nodes are stored in compiled form; smaller ones compile in a few
/// milliseconds.
const STORED_NODES_MIN: usize = 1000;

/// A key space with a catalog of dataspaces, schema sets and anchors. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    driver: Arc<dyn Driver>,
    clock: Arc<dyn Clock>,
    clock_watch: ClockWatch,
    schemas: Arc<SchemaCache>,
    locks: [Mutex<()>; TREE_LOCKS],
    catalog_lock: Mutex<()>,
    subscriptions: Registry,
    checks: AtomicU64,
    fallbacks: AtomicU64,
    visits: AtomicU64,
    candidates: CandidateCache,
    providers: Arc<Providers>,
}

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
        self.index_definition.get_or_init(|| index_definition(self))
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
    /// The most recently used schemas of older versions.
    past: Mutex<Vec<Arc<Compiled>>>,
}

/// At most this many compiled schemas of older versions are cached.
const PAST_SCHEMAS_MAX: usize = 4;

impl SchemaCache {
    /// A schema set as it is in a snapshot.
    pub fn compiled(&self, snapshot: &dyn Snapshot, record: Record) -> Result<Arc<Compiled>> {
        let modules_precondition = modules_precondition(snapshot, &record)?;
        let cached = self.compiled.read().get(&record.id).cloned();
        let is_current = |compiled: &Arc<Compiled>| {
            compiled.record == record && compiled.modules_precondition == modules_precondition
        };
        if let Some(compiled) = cached.filter(is_current) {
            return Ok(compiled);
        }
        let compiled = match Compiled::stored(snapshot, (&record, &modules_precondition))? {
            Some(stored) => stored,
            None => compile(snapshot, (record, modules_precondition))?,
        };
        Ok(self.keep(compiled))
    }

    /// Caches a compiled schema set.
    fn keep(&self, compiled: Compiled) -> Arc<Compiled> {
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
    let (layout, new_numbers) = dictionary::number(&schema, snapshot)?;
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

impl Store {
    /// Opens a key space, and formats it if it is empty. The cost does not depend on the number of anchors.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the format is of a later version, or the key space is not a store;
    /// [`Error::Edited`] if a driver that keeps documents found one that was edited by hand and is not valid.
    pub fn open(driver: Arc<dyn Driver>, clock: Arc<dyn Clock>) -> Result<Self> {
        let inner = Inner {
            driver,
            clock,
            clock_watch: ClockWatch::default(),
            schemas: Arc::default(),
            locks: std::array::from_fn(|_| Mutex::new(())),
            catalog_lock: Mutex::new(()),
            subscriptions: Registry::default(),
            checks: AtomicU64::new(0),
            fallbacks: AtomicU64::new(0),
            visits: AtomicU64::new(0),
            candidates: CandidateCache::default(),
            providers: Arc::default(),
        };
        let store = Self {
            inner: Arc::new(inner),
        };
        // Starts the observation of the clock.
        store.now();
        store.check_format()?;
        store.register_lens()?;
        Ok(store)
    }

    /// Registers the lens with a driver that stores human-readable documents, and imports edited documents.
    fn register_lens(&self) -> Result<()> {
        let lens = Arc::new(StoreLens::new(Arc::clone(&self.inner.schemas)));
        let mut rejection = None;
        let registered = self.driver().set_lens(lens, &mut |document| {
            apply_edited_document(self, document).map_err(|error| {
                rejection = Some(error);
                espalier_keyspace::Error::new(ErrorKind::Aborted, "an edited document is rejected")
            })
        });
        match rejection {
            Some(rejection) => Err(rejection),
            None => registered.map_err(Error::from),
        }
    }

    fn check_format(&self) -> Result<()> {
        let key = format_key();
        let snapshot = self.driver().snapshot()?;
        reject_unfinished(&*snapshot)?;
        let Some(value) = snapshot.get(&key)? else {
            if snapshot
                .scan(&KeyRange::all(), Direction::Forward)?
                .next()?
                .is_some()
            {
                return Err(Error::corrupt(
                    "the key space is not empty and is not a store",
                ));
            }
            return self.write_format(key);
        };
        match take_varint(&mut &*value)? {
            FORMAT_VERSION => Ok(()),
            version => Err(Error::corrupt(format!(
                "the format is version {version}, this program supports {FORMAT_VERSION}; use the program that wrote it"
            ))),
        }
    }

    fn write_format(&self, key: Vec<u8>) -> Result<()> {
        let mut value = Vec::new();
        put_varint(&mut value, FORMAT_VERSION);
        let mut batch = Batch::new();
        batch.require(key.clone(), None);
        batch.put(key, value);
        match self.driver().commit(batch) {
            Err(error) if error.kind() == ErrorKind::Conflict => self.check_format(),
            result => result.map(|_| ()).map_err(Error::from),
        }
    }

    /// The engine.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.inner.driver
    }

    /// The registered providers of operational state.
    pub(crate) fn providers(&self) -> &Arc<Providers> {
        &self.inner.providers
    }

    /// The time now, as commits are stamped.
    pub fn now(&self) -> Timestamp {
        self.inner.clock_watch.now(self.clock())
    }

    /// The source of time.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// Since when the wall clock has had no step, as far as this process has observed: not before the store
    /// was opened.
    pub(crate) fn steady_since(&self) -> Timestamp {
        self.inner.clock_watch.steady_since(self.clock())
    }

    /// A datastore of an anchor. Its schema is compiled on first use and cached.
    ///
    /// # Errors
    /// [`Error::Unknown`] for dataspace and anchor.
    pub fn tree(&self, dataspace: &str, anchor: &str, datastore: Datastore) -> Result<Tree> {
        self.tree_of(dataspace, anchor, datastore, "")
    }

    /// Like [`Self::tree`], for a session: a private candidate belongs to its session.
    pub fn tree_of(
        &self,
        dataspace: &str,
        anchor: &str,
        datastore: Datastore,
        session: &str,
    ) -> Result<Tree> {
        check_session(datastore, session)?;
        let snapshot = self.driver().snapshot()?;
        reject_unfinished(&*snapshot)?;
        let (anchor, record) = Self::bound_anchor(&*snapshot, dataspace, anchor)?;
        let compiled = self.compiled(&*snapshot, record)?;
        drop(snapshot);
        self.store_compiled(&compiled);
        let store = self.clone();
        let tree = Tree::new(store, anchor.row(), compiled, datastore, session);
        if let Err(error) = tree.expire() {
            tracing::warn!(%error, "rolling back expired confirmed commits failed");
        }
        Ok(tree)
    }

    /// The number and the size of the keys in each key range. Linear in the number of keys.
    pub fn usage(&self) -> Result<Vec<(Subspace, Usage)>> {
        let snapshot = self.driver().snapshot()?;
        Subspace::ALL
            .into_iter()
            .map(|subspace| Ok((subspace, range_usage(&*snapshot, subspace)?)))
            .collect()
    }

    pub(crate) fn compiled(
        &self,
        snapshot: &dyn Snapshot,
        record: Record,
    ) -> Result<Arc<Compiled>> {
        self.inner.schemas.compiled(snapshot, record)
    }

    pub(crate) fn compiled_past(
        &self,
        snapshot: &dyn Snapshot,
        record: Record,
    ) -> Result<Arc<Compiled>> {
        self.inner.schemas.compiled_past(snapshot, record)
    }

    /// Caches and stores a schema set that was compiled to be put into the catalog.
    pub(crate) fn adopt_compiled(&self, compiled: Compiled) {
        let compiled = self.inner.schemas.keep(compiled);
        self.store_compiled(&compiled);
    }

    /// Stores a compiled schema set, so that the next process does not compile it. If this fails (the engine
    /// is read-only, or another process was faster), the next process compiles it.
    fn store_compiled(&self, compiled: &Compiled) {
        if !compiled.is_to_be_stored.swap(false, Ordering::Relaxed)
            || !self.driver().capability().durable
        {
            return;
        }
        let Some(content) = Content::pack(compiled) else {
            return;
        };
        let Precondition { key, value } = compiled.modules_precondition.clone();
        let fingerprint =
            stored_schema::fingerprint(&compiled.record, &compiled.modules_precondition);
        let mut batch = Batch::new();
        batch.require(key, value);
        stored_schema::write(&mut batch, compiled.record.id, fingerprint, &content);
        if let Err(error) = self.driver().commit(batch) {
            tracing::debug!(%error, "a compiled schema set is not stored");
        }
    }

    /// The registered subscribers.
    pub(crate) fn subscriptions(&self) -> &Registry {
        &self.inner.subscriptions
    }

    /// The validation work since the store was opened in this process.
    pub fn validation_effort(&self) -> ValidationCost {
        ValidationCost {
            checks: self.inner.checks.load(Ordering::Relaxed),
            fallbacks: self.inner.fallbacks.load(Ordering::Relaxed),
            visits: self.inner.visits.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn count_effort(&self, effort: ValidationCost) {
        self.inner
            .checks
            .fetch_add(effort.checks, Ordering::Relaxed);
        self.inner
            .fallbacks
            .fetch_add(effort.fallbacks, Ordering::Relaxed);
        self.inner
            .visits
            .fetch_add(effort.visits, Ordering::Relaxed);
    }

    /// The cache of candidates' changes.
    pub(crate) fn candidates(&self) -> &CandidateCache {
        &self.inner.candidates
    }

    /// The index of the lock of a tree.
    pub(crate) fn lock_of(tree: TreeId) -> usize {
        let slot = tree
            .anchor
            .wrapping_mul(31)
            .wrapping_add(tree.datastore.into());
        (slot % TREE_LOCKS as u64) as usize
    }

    /// The lock that is held while a commit to a tree is prepared, so that commits of one process do not
    /// conflict.
    pub(crate) fn lock(&self, tree: TreeId) -> MutexGuard<'_, ()> {
        self.inner.locks[Self::lock_of(tree)].lock()
    }

    /// Prepares a change of the catalog from a snapshot and commits it; retries on conflict. Catalog changes
    /// are serialized: each one requires that no other came in between. Returns the result of `decide` for
    /// the committed batch.
    pub(crate) fn change_catalog<T>(
        &self,
        decide: impl Fn(&dyn Snapshot, &mut Batch) -> Result<T>,
    ) -> Result<T> {
        let _one_at_a_time = self.lock_catalog();
        self.driver().catch_up()?;
        let mut tries: u32 = 0;
        loop {
            let snapshot = self.driver().snapshot()?;
            let mut batch = Batch::new();
            Self::increment_change_counter(&*snapshot, &mut batch)?;
            let decided = decide(&*snapshot, &mut batch)?;
            drop(snapshot);
            tries += 1;
            match self.driver().commit(batch) {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < CATALOG_TRIES_MAX => {
                    // Without a pause, one of two processes can lose every time: the one that just committed
                    // has its next change ready first.
                    let pause = tries.saturating_sub(CATALOG_TRIES_WITHOUT_PAUSE);
                    thread::sleep(Duration::from_millis(pause.into()));
                }
                result => return result.map(|_| decided).map_err(Error::from),
            }
        }
    }

    /// The lock that is held while a change of the catalog is prepared.
    pub(crate) fn lock_catalog(&self) -> MutexGuard<'_, ()> {
        self.inner.catalog_lock.lock()
    }

    pub(crate) fn increment_change_counter(
        snapshot: &dyn Snapshot,
        batch: &mut Batch,
    ) -> Result<()> {
        Self::increment(CATALOG_CHANGES, snapshot, batch).map(|_| ())
    }

    /// A new id, never used before and never reused.
    pub(crate) fn allocate_id(snapshot: &dyn Snapshot, batch: &mut Batch) -> Result<u64> {
        Self::increment(b"next-id", snapshot, batch)
    }

    fn increment(name: &[u8], snapshot: &dyn Snapshot, batch: &mut Batch) -> Result<u64> {
        let mut key = Subspace::Meta.key();
        key.extend_from_slice(name);
        let stored = snapshot.get(&key)?.map(std::borrow::Cow::into_owned);
        let id = stored
            .as_deref()
            .map_or(Ok(1), |mut value| take_varint(&mut value))?;
        let mut value = Vec::new();
        put_varint(&mut value, id + 1);
        batch.require(key.clone(), stored);
        batch.put(key, value);
        Ok(id)
    }
}

/// The catalog's change counter in a snapshot, as stored.
pub(crate) fn catalog_changes(state: &dyn Snapshot) -> Result<Option<Vec<u8>>> {
    let key = [Subspace::Meta.key().as_slice(), CATALOG_CHANGES].concat();
    Ok(state.get(&key)?.map(std::borrow::Cow::into_owned))
}

fn format_key() -> Vec<u8> {
    let mut key = Subspace::Meta.key();
    key.extend_from_slice(b"format");
    key
}

fn range_usage(snapshot: &dyn Snapshot, subspace: Subspace) -> Result<Usage> {
    let mut usage = Usage::default();
    let range = subspace.range();
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        usage.keys += 1;
        usage.bytes += (key.len() + value.len()) as u64;
    }
    Ok(usage)
}
