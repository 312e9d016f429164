//! The collection handle and its view of the stored definition.

use std::sync::Arc;

use espalier_keyspace::Snapshot;
use parking_lot::RwLock;

use crate::bound_definition::{Shape, bind};
use crate::cache::{Cache, Resident};
use crate::declaration::Declaration;
use crate::definition::{Definition, Info};
use crate::document::Document;
use crate::layout::{Storage, number};
use crate::ram::RamRows;
use crate::shared_state::Core;
use crate::{Changed, Documents, Error, ErrorKind, Policy, Result, Trigger, reconcile};

/// Documents of one type, with their indexes. Cheap to clone; may be shared between threads.
pub struct Collection<T> {
    inner: Arc<Inner<T>>,
}

impl<T> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

struct Inner<T> {
    core: Arc<Core>,
    declaration: Declaration<T>,
    mode: OpenMode,
    triggers: Option<Arc<Vec<Arc<dyn Trigger<T>>>>>,
    opened: RwLock<Arc<Opened<T>>>,
}

/// The source of the index definitions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// The declaration of the program: a different stored definition is an error.
    Declared,
    /// The stored definition.
    Stored,
}

/// The stored definition and its cache.
pub(crate) struct Opened<T> {
    pub(crate) shape: Arc<Shape<T>>,
    pub(crate) cache: Arc<Cache<T>>,
    /// The rows of a collection in memory only, which other handles of this process may change.
    ram: Option<Arc<RamRows>>,
}

impl<T: Document> Opened<T> {
    /// The resident cache, if it can be used.
    pub(crate) fn resident(&self) -> Option<&Resident<T>> {
        if let Some(ram) = &self.ram
            && let Err(error) = self.cache.follow_ram(&self.shape, ram)
        {
            tracing::warn!(collection = self.shape.name, %error, "updating the cache failed; reads go to the engine");
            return None;
        }
        self.cache.resident()
    }

    /// The resident cache, if it has all documents.
    pub(crate) fn resident_documents(&self) -> Option<&Resident<T>> {
        if self.shape.policy.keeps_documents() {
            self.resident()
        } else {
            None
        }
    }
}

impl<T: Document> Collection<T> {
    /// Opens a declared collection: the stored definition is reconciled with the declaration.
    pub(crate) fn open(documents: &Documents, declaration: Declaration<T>) -> Result<Self> {
        let core = Arc::clone(documents.core());
        core.run_alone(&mut |transaction| reconcile::reconcile(transaction, &declaration))?;
        Self::with(core, declaration, OpenMode::Declared)
    }

    /// Opens a stored collection with its stored indexes.
    pub(crate) fn stored(
        documents: &Documents,
        name: &str,
        policy: Option<Policy>,
    ) -> Result<Self> {
        let core = Arc::clone(documents.core());
        core.driver.catch_up()?;
        let definition = load(&core, name)?;
        let stored: Policy = definition.policy.parse().unwrap_or_default();
        let mut policy = match (stored, policy) {
            (Policy::Ram, _) => Policy::Ram,
            (stored, policy) => policy.unwrap_or(stored),
        };
        let is_known = definition
            .info()
            .indexes
            .iter()
            .all(|index| index.fields.is_some());
        if !is_known && policy.keeps_indexes() {
            policy = Policy::RECENT;
        }
        let mut declaration = Declaration::new(name).policy(policy);
        declaration.schema_version = definition.schema_version;
        Self::with(core, declaration, OpenMode::Stored)
    }

    fn with(core: Arc<Core>, mut declaration: Declaration<T>, mode: OpenMode) -> Result<Self> {
        let triggers = std::mem::take(&mut declaration.triggers);
        let opened = open(&core, &declaration, mode, None)?;
        Ok(Self {
            inner: Arc::new(Inner {
                core,
                declaration,
                mode,
                triggers: (!triggers.is_empty()).then(|| Arc::new(triggers)),
                opened: RwLock::new(Arc::new(opened)),
            }),
        })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.inner.declaration.name
    }

    /// The policy of this handle.
    pub fn policy(&self) -> Policy {
        self.inner.declaration.policy
    }

    /// The policy for servers, if this handle is of a program that declares one.
    pub(crate) fn declared_policy(&self) -> Option<Policy> {
        (self.inner.mode == OpenMode::Declared).then(|| self.policy())
    }

    /// The stored definition of the collection.
    pub fn info(&self) -> Result<Info> {
        Ok(load(&self.inner.core, self.name())?.info())
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.inner.core
    }

    pub(crate) fn declaration(&self) -> &Declaration<T> {
        &self.inner.declaration
    }

    pub(crate) fn opened(&self) -> Arc<Opened<T>> {
        Arc::clone(&self.inner.opened.read())
    }

    /// Reads the stored definition again.
    pub(crate) fn reopen(&self) -> Result<Arc<Opened<T>>> {
        let before = self.opened();
        let inner = &self.inner;
        let opened = open(&inner.core, &inner.declaration, inner.mode, Some(&before))?;
        let opened = Arc::new(opened);
        *inner.opened.write() = Arc::clone(&opened);
        Ok(opened)
    }

    /// The collection as it is stored now, if it has changed since it was opened: another program may have
    /// dropped it, recreated it, or changed its indexes.
    pub(crate) fn changed(
        &self,
        opened: &Opened<T>,
        snapshot: &dyn Snapshot,
    ) -> Result<Option<Arc<Opened<T>>>> {
        let stored = snapshot.get(&opened.shape.keys.generation())?;
        let stored = stored.map(|stored| number(&stored)).transpose()?;
        if stored == Some(opened.shape.generation) {
            return Ok(None);
        }
        self.reopen().map(Some)
    }

    /// Rejects a collection of another [`Documents`] than that of the transaction.
    pub(crate) fn check_same_documents(&self, core: &Core) -> Result<()> {
        if std::ptr::eq(&*self.inner.core, core) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "{:?} and this transaction belong to different key spaces or prefixes",
            self.name()
        )))
    }

    /// Rejects writes if this program cannot maintain all indexes.
    pub(crate) fn check_writable(&self, shape: &Shape<T>) -> Result<()> {
        if shape.is_migrating {
            return Err(Error::definition(format!(
                "the documents of {:?} are being migrated to another schema version; retry when that is done",
                shape.name
            )));
        }
        let unknown = shape.indexes.iter().find(|index| !index.is_known());
        unknown.map_or(Ok(()), |index| {
            Err(Error::definition(format!(
                "index {:?} of {:?} is declared by a program; only that program can write here",
                index.name, shape.name
            )))
        })
    }

    pub(crate) fn triggers(&self) -> Option<Arc<Vec<Arc<dyn Trigger<T>>>>> {
        self.inner.triggers.clone()
    }

    pub(crate) fn check_triggers(&self, change: &Changed<'_, T>) -> Result<()> {
        let Some(triggers) = &self.inner.triggers else {
            return Ok(());
        };
        for trigger in triggers.iter() {
            trigger.check(change).map_err(|reason| {
                let message = format!("document {} of {:?}: {reason}", change.key, self.name());
                Error::new(ErrorKind::RejectedByTrigger, message)
            })?;
        }
        Ok(())
    }
}

/// The stored definition of a collection.
pub(crate) fn load(core: &Core, name: &str) -> Result<Definition> {
    for storage in [Storage::Engine, Storage::Ram] {
        let snapshot = core.snapshot(storage)?;
        if let Some(stored) = snapshot.get(&core.layout.definition(storage, name))? {
            return Definition::decode(&stored);
        }
    }
    let message = format!("there is no collection {name:?}");
    Err(Error::new(ErrorKind::Missing, message))
}

fn open<T: Document>(
    core: &Arc<Core>,
    declaration: &Declaration<T>,
    mode: OpenMode,
    before: Option<&Opened<T>>,
) -> Result<Opened<T>> {
    let definition = load(core, &declaration.name)?;
    if mode == OpenMode::Declared {
        reconcile::check_declared(&definition, declaration)?;
    }
    let storage = reconcile::storage_of(declaration.policy);
    let keys = core.layout.collection(storage, definition.id);
    let declared = |name: &str| {
        let mut declared = declaration.indexes.iter();
        let index = declared.find(|index| index.name == name)?;
        Some(index.source.clone())
    };
    let shape = Arc::new(bind(&definition, keys, declaration.policy, declared));
    if let Some(before) = before
        && before.shape.has_same_cache_content(&shape)
    {
        let cache = Arc::clone(&before.cache);
        let ram = before.ram.clone();
        return Ok(Opened { shape, cache, ram });
    }
    let cache = Arc::new(Cache::new(&shape));
    if cache.is_enabled() && definition.migrating_to.is_none() {
        match storage {
            Storage::Ram => cache.catch_up(&shape, &core.ram.snapshot())?,
            Storage::Engine => cache.follow(&shape, core)?,
        }
    }
    let ram = (storage == Storage::Ram).then(|| Arc::clone(&core.ram));
    Ok(Opened { shape, cache, ram })
}
