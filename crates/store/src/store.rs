//! A store: a key space with a catalog, and its caches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::{Batch, Driver, Snapshot, Transact};
use espalier_yang::validate::ValidationCost;
use parking_lot::{Mutex, MutexGuard};

use crate::catalog::Record;
use crate::clock::{Clock, ClockWatch, Timestamp};
use crate::commit_groups::CommitGroups;
use crate::compiled_schema_set::{Compiled, SchemaCache};
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::keys::TreeId;
use crate::subspace::Subspace;
use crate::transfer::Marker;
use crate::tree::{CandidateCache, Providers, Registry};

/// Counts changes of the catalog.
const CATALOG_CHANGES: &[u8] = b"catalog-changes";

/// Commits to different trees do not wait for each other, up to this many trees.
const TREE_LOCKS: usize = 64;

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
    commits: [Arc<CommitGroups>; TREE_LOCKS],
    catalog_lock: Mutex<()>,
    subscriptions: Registry,
    checks: AtomicU64,
    fallbacks: AtomicU64,
    visits: AtomicU64,
    candidates: CandidateCache,
    providers: Arc<Providers>,
}

impl Store {
    /// A store over an engine, which is not read yet.
    pub(crate) fn new(driver: Arc<dyn Driver>, clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            driver,
            clock,
            clock_watch: ClockWatch::default(),
            schemas: Arc::default(),
            commits: std::array::from_fn(|_| Arc::default()),
            catalog_lock: Mutex::new(()),
            subscriptions: Registry::default(),
            checks: AtomicU64::new(0),
            fallbacks: AtomicU64::new(0),
            visits: AtomicU64::new(0),
            candidates: CandidateCache::default(),
            providers: Arc::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The cache of compiled schema sets.
    pub(crate) fn schemas(&self) -> &Arc<SchemaCache> {
        &self.inner.schemas
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
    pub fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// Since when the wall clock has had no step, as far as this process has observed: not before the store
    /// was opened.
    pub(crate) fn steady_since(&self) -> Timestamp {
        self.inner.clock_watch.steady_since(self.clock())
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
        compiled.store(&**self.driver());
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

    /// The commits to a tree.
    pub(crate) fn commits(&self, tree: TreeId) -> &Arc<CommitGroups> {
        &self.inner.commits[Self::lock_of(tree)]
    }

    /// The lock that is held while a commit to a tree is prepared and made alone, so that commits of one process do not
    /// conflict.
    pub(crate) fn lock(&self, tree: TreeId) -> MutexGuard<'_, ()> {
        self.commits(tree).lock()
    }

    /// The locks of all trees: nothing is committed by this process until they are dropped. No other lock of a tree may
    /// be held, or taken meanwhile.
    pub(crate) fn lock_all(&self) -> Vec<MutexGuard<'_, ()>> {
        let groups = self.inner.commits.iter();
        groups.map(|groups| groups.lock()).collect()
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
        let newest = || Ok(self.driver().snapshot()?);
        Transact::<Error>::new(&**self.driver()).run(&newest, &mut |snapshot| {
            let mut batch = Batch::new();
            Self::increment_change_counter(&*snapshot, &mut batch)?;
            let decided = decide(&*snapshot, &mut batch)?;
            Ok((batch, decided))
        })
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

/// The state of a catalog: equal to an earlier one if no dataspace, schema set or anchor was changed in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogState {
    changes: Option<Vec<u8>>,
    is_complete: bool,
}

impl Store {
    /// The state of the catalog, in one read of the engine: whether open trees have to be checked
    /// ([`Tree::is_current`](crate::Tree::is_current)). A store that another one was copied over may have an equal
    /// state.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn catalog_state(&self) -> Result<CatalogState> {
        let snapshot = self.driver().snapshot_with_prefetch(&|expected| {
            expected.key(catalog_changes_key());
            expected.key(Marker::key());
        })?;
        Ok(CatalogState {
            changes: catalog_changes(&*snapshot)?,
            is_complete: snapshot.get(&Marker::key())?.is_none(),
        })
    }
}

fn catalog_changes_key() -> Vec<u8> {
    [Subspace::Meta.key().as_slice(), CATALOG_CHANGES].concat()
}

/// The catalog's change counter in a snapshot, as stored.
pub(crate) fn catalog_changes(state: &dyn Snapshot) -> Result<Option<Vec<u8>>> {
    let value = state.get(&catalog_changes_key())?;
    Ok(value.map(std::borrow::Cow::into_owned))
}
