//! A transaction, and what happens after its commit.

use std::any::Any;
use std::sync::Arc;

use espalier_keyspace::Version;

use crate::cache::{DocumentState, Present};
use crate::collection::Opened;
use crate::document::Document;
use crate::layout::{State, Storage, counter, number};
use crate::limits::TRANSACTION_DOCUMENTS_MAX;
use crate::rows::{Changes, Rows};
use crate::shared_state::{Body, Core};
use crate::{Collection, Error, Result};

/// Atomic changes over a consistent snapshot. What was read must be unchanged at the commit; otherwise the
/// transaction is run again.
pub struct Transaction<'a> {
    pub(super) core: &'a Core,
    pub(crate) rows: Rows<'a>,
    cache_updates: CacheUpdates,
    after: After,
    documents: usize,
    deferred_checks: Vec<DeferredCheck>,
}

/// A check that runs when all changes of the transaction are known.
type DeferredCheck = Box<dyn FnOnce(&mut Transaction<'_>) -> Result<()>>;

/// Callbacks after a commit, run by the thread of the transaction.
pub(crate) type After = Vec<Box<dyn FnOnce()>>;

/// The results of a transaction.
#[derive(Default)]
pub(crate) struct TransactionOutput {
    pub(crate) changes: Changes,
    pub(crate) cache_updates: CacheUpdates,
    pub(crate) after: After,
}

/// The versions that a commit created.
#[derive(Clone, Copy)]
pub(crate) struct Committed {
    /// `None` if nothing was written to the engine.
    pub(crate) engine: Option<Version>,
    pub(crate) ram: Version,
}

/// The cache updates of a commit.
#[derive(Default)]
pub(crate) struct CacheUpdates(Vec<Box<dyn CacheUpdate>>);

impl CacheUpdates {
    /// The number of updates for each cache.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.0.iter().map(|update| update.len()).collect()
    }

    /// Discards the updates after these numbers for each cache.
    pub(crate) fn truncate(&mut self, lengths: &[usize]) {
        self.0.truncate(lengths.len());
        for (update, length) in self.0.iter_mut().zip(lengths) {
            update.truncate(*length);
        }
    }

    /// Applies the updates, in order.
    pub(crate) fn apply(self, committed: Committed) {
        self.0
            .into_iter()
            .for_each(|update| update.apply(committed));
    }
}

/// The updates of one cache.
trait CacheUpdate: Send {
    fn as_any(&mut self) -> &mut dyn Any;
    fn len(&self) -> usize;
    fn truncate(&mut self, length: usize);
    fn apply(self: Box<Self>, committed: Committed);
}

struct CollectionUpdate<T> {
    opened: Arc<Opened<T>>,
    /// The number of earlier commits.
    before: u64,
    changes: Vec<(u64, Option<Present<T>>)>,
}

impl<T: Document> CacheUpdate for CollectionUpdate<T> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn len(&self) -> usize {
        self.changes.len()
    }

    fn truncate(&mut self, length: usize) {
        self.changes.truncate(length);
    }

    fn apply(self: Box<Self>, committed: Committed) {
        let shape = &self.opened.shape;
        let version = match (shape.keys.storage, committed.engine) {
            (Storage::Ram, _) => committed.ram,
            (Storage::Engine, Some(version)) => version,
            (Storage::Engine, None) => return,
        };
        let updates = self
            .changes
            .into_iter()
            .map(|(key, present)| DocumentState {
                key,
                version,
                present,
            });
        self.opened
            .cache
            .commit(shape, updates.collect(), self.before);
    }
}

impl<'a> Transaction<'a> {
    /// A transaction over these rows; `cache_updates` are the cache updates of earlier ones of its group.
    pub(crate) fn new(core: &'a Core, rows: Rows<'a>, cache_updates: CacheUpdates) -> Self {
        Self {
            core,
            rows,
            cache_updates,
            after: After::new(),
            documents: 0,
            deferred_checks: Vec::new(),
        }
    }

    /// Defers a check to the end of the transaction, when all its changes are known.
    pub(super) fn defer_check(
        &mut self,
        check: impl FnOnce(&mut Transaction<'_>) -> Result<()> + 'static,
    ) {
        self.deferred_checks.push(Box::new(check));
    }

    /// Runs `body`, then the deferred checks.
    pub(crate) fn run<R>(&mut self, body: Body<'_, R>) -> Result<R> {
        let result = body(self)?;
        for check in std::mem::take(&mut self.deferred_checks) {
            check(self)?;
        }
        Ok(result)
    }

    pub(crate) fn end(self) -> TransactionOutput {
        TransactionOutput {
            changes: self.rows.into_changes(),
            cache_updates: self.cache_updates,
            after: self.after,
        }
    }

    /// The collection as it is stored now, with a precondition that it stays so.
    pub(crate) fn opened<T: Document>(
        &mut self,
        collection: &Collection<T>,
    ) -> Result<Arc<Opened<T>>> {
        let (opened, ()) = self.opened_at(collection, |transaction, opened| {
            let row = opened.shape.keys.generation();
            let generation = transaction.rows.read(&row)?.map(number).transpose()?;
            Ok(generation.map(|generation| (generation, ())))
        })?;
        Ok(opened)
    }

    /// The collection as it is defined now, even if its rows are inconsistent. Requires that the definition
    /// stays so.
    pub(crate) fn opened_unverified<T: Document>(
        &mut self,
        collection: &Collection<T>,
    ) -> Result<Arc<Opened<T>>> {
        let opened = collection.opened();
        let shape = &opened.shape;
        let row = self.core.layout.definition(shape.keys.storage, &shape.name);
        self.rows.read(&row)?;
        Ok(opened)
    }

    /// The collection as it is stored now, and the next new key.
    pub(super) fn opened_to_insert<T: Document>(
        &mut self,
        collection: &Collection<T>,
    ) -> Result<(Arc<Opened<T>>, State)> {
        self.opened_at(collection, |transaction, opened| {
            let row = opened.shape.keys.state();
            let state = transaction
                .rows
                .read(&row)?
                .map(State::decode)
                .transpose()?;
            Ok(state.map(|state| (state.generation, state)))
        })
    }

    pub(super) fn state<T: Document>(&mut self, opened: &Opened<T>) -> Result<State> {
        let row = self.rows.read(&opened.shape.keys.state())?;
        State::decode(row.ok_or_else(|| Error::corrupt("a collection has no state"))?)
    }

    /// The collection as it is stored now, verified with the row that `generation` reads; also returns what
    /// else that reads.
    fn opened_at<T: Document, R>(
        &mut self,
        collection: &Collection<T>,
        generation: impl Fn(&mut Self, &Opened<T>) -> Result<Option<(u64, R)>>,
    ) -> Result<(Arc<Opened<T>>, R)> {
        collection.check_same_documents(self.core)?;
        for is_second in [false, true] {
            let opened = match is_second {
                false => collection.opened(),
                true => collection.reopen()?,
            };
            if let Some((stored, read)) = generation(self, &opened)?
                && stored == opened.shape.generation
            {
                return Ok((opened, read));
            }
        }
        Err(espalier_keyspace::Error::conflict(&collection.opened().shape.keys.generation()).into())
    }

    /// Records the change of a document for the cache.
    pub(super) fn record_change<T: Document>(
        &mut self,
        opened: &Arc<Opened<T>>,
        key: u64,
        present: Option<Present<T>>,
    ) -> Result<()> {
        self.documents += 1;
        if self.documents > TRANSACTION_DOCUMENTS_MAX {
            return Err(Error::limit(format!(
                "a transaction changes more than {TRANSACTION_DOCUMENTS_MAX} documents; split it"
            )));
        }
        if !opened.cache.is_enabled() {
            return Ok(());
        }
        for update in &mut self.cache_updates.0 {
            if let Some(update) = update.as_any().downcast_mut::<CollectionUpdate<T>>()
                && Arc::ptr_eq(&update.opened.cache, &opened.cache)
            {
                update.changes.push((key, present));
                return Ok(());
            }
        }
        let before = self.rows.peek(&opened.shape.keys.sequence())?;
        self.cache_updates.0.push(Box::new(CollectionUpdate {
            opened: Arc::clone(opened),
            before: counter(before.as_deref())?,
            changes: vec![(key, present)],
        }));
        Ok(())
    }

    /// Adds a callback to run after the commit.
    pub(super) fn run_after_commit(&mut self, after: impl FnOnce() + 'static) {
        self.after.push(Box::new(after));
    }
}

impl<'a> Transaction<'a> {
    pub(crate) fn core(&self) -> &'a Core {
        self.core
    }
}
