//! Operations that read documents by key.

use std::ops::ControlFlow;
use std::sync::Arc;

use espalier_keyspace::{PrefetchList, Snapshot};

use super::Opened;
use crate::cache::follow;
use crate::document::{Document, EntityTag};
use crate::layout::{State, Storage, counter};
use crate::row_reader::{Reader, View};
use crate::{Collection, Index, Result, Selection};

impl<T: Document> Collection<T> {
    /// The document with a key.
    pub fn get(&self, key: u64) -> Result<Option<Arc<T>>> {
        let opened = self.opened();
        if let Some(resident) = opened.resident_documents() {
            let found = resident.get(key);
            if found.is_some() || resident.count() > 0 {
                return Ok(found);
            }
        }
        if let Some(recent) = opened.cache.recent()
            && let Some(document) = recent.get(key)
        {
            return Ok(Some(document));
        }
        let snapshot = self.snapshot_of(&opened, key)?;
        let found = opened.read(&*snapshot, key)?;
        if found.is_some() {
            return Ok(found);
        }
        match self.changed(&opened, &*snapshot)? {
            Some(opened) => opened.read(&*snapshot, key),
            None => Ok(None),
        }
    }

    /// A snapshot to read a document; its row is prefetched.
    fn snapshot_of(&self, opened: &Opened<T>, key: u64) -> Result<Box<dyn Snapshot>> {
        let expect = |expected: &mut PrefetchList| opened.prefetch_document(key, expected);
        let storage = opened.shape.keys.storage;
        self.core().snapshot_with_prefetch(storage, &expect)
    }

    /// The document with a key as it is stored now, and the tag of its state.
    pub fn get_with_tag(&self, key: u64) -> Result<Option<(Arc<T>, EntityTag)>> {
        let mut opened = self.opened();
        let snapshot = self.snapshot_of(&opened, key)?;
        let mut row = snapshot.get(&opened.shape.keys.document(key))?;
        if row.is_none()
            && let Some(changed) = self.changed(&opened, &*snapshot)?
        {
            opened = changed;
            row = snapshot.get(&opened.shape.keys.document(key))?;
        }
        let shape = &opened.shape;
        row.map(|row| Ok((Arc::new(shape.decode(key, &row)?), EntityTag::of(&row))))
            .transpose()
    }

    /// The documents of a selection, with their keys.
    pub fn list(&self, selection: Selection) -> Result<Vec<(u64, Arc<T>)>> {
        let opened = self.opened();
        if let Some(resident) = opened.resident_documents()
            && resident.count() > 0
        {
            return Ok(resident.list(&selection));
        }
        let mut found = Vec::new();
        self.for_each(selection, |key, document| {
            found.push((key, document));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Calls `visit` with the documents of a selection in one snapshot, until it returns `Break`. Holds one
    /// document at a time; reads the engine under every policy.
    pub fn for_each(
        &self,
        selection: Selection,
        mut visit: impl FnMut(u64, Arc<T>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut opened = self.opened();
        let snapshot = self.core().snapshot(opened.shape.keys.storage)?;
        if let Some(changed) = self.changed(&opened, &*snapshot)? {
            opened = changed;
        }
        let shape = &opened.shape;
        let range = shape.keys.documents(selection.from, selection.before);
        let mut passed = 0;
        let mut taken = 0;
        if selection.limit == 0 {
            return Ok(());
        }
        View(&*snapshot).scan(&range, selection.direction, &mut |row, stored| {
            let Some(key) = shape.keys.document_key(row) else {
                return Ok(ControlFlow::Continue(()));
            };
            passed += 1;
            if passed <= selection.offset {
                return Ok(ControlFlow::Continue(()));
            }
            taken += 1;
            let flow = visit(key, Arc::new(shape.decode(key, stored)?));
            Ok(if taken >= selection.limit {
                ControlFlow::Break(())
            } else {
                flow
            })
        })
    }

    /// The number of documents.
    pub fn count(&self) -> Result<u64> {
        let mut opened = self.opened();
        if let Some(resident) = opened.resident()
            && resident.count() > 0
        {
            return Ok(resident.count());
        }
        let snapshot = self.core().snapshot(opened.shape.keys.storage)?;
        if let Some(changed) = self.changed(&opened, &*snapshot)? {
            opened = changed;
        }
        let keys = &opened.shape.keys;
        counter(snapshot.get(&keys.count())?.as_deref())
    }

    /// The smallest document key.
    pub fn first_key(&self) -> Result<Option<u64>> {
        self.one_key(Selection::all())
    }

    /// The largest document key.
    pub fn last_key(&self) -> Result<Option<u64>> {
        self.one_key(Selection::all().reversed())
    }

    fn one_key(&self, selection: Selection) -> Result<Option<u64>> {
        let opened = self.opened();
        let keys = &opened.shape.keys;
        let snapshot = self.core().snapshot(keys.storage)?;
        let mut cursor = snapshot.scan(&keys.documents(0, None), selection.direction)?;
        let row = cursor.next()?;
        Ok(row.and_then(|(row, _)| keys.document_key(row)))
    }

    /// The key of the next inserted document: the largest key ever used plus one.
    pub fn next_key(&self) -> Result<u64> {
        let opened = self.opened();
        let keys = &opened.shape.keys;
        let snapshot = self.core().snapshot(keys.storage)?;
        let state = snapshot.get(&keys.state())?;
        Ok(state
            .map(|state| State::decode(&state))
            .transpose()?
            .map_or(0, |state| state.next))
    }

    /// The number of commits that changed the collection.
    pub fn sequence(&self) -> Result<u64> {
        let opened = self.opened();
        let keys = &opened.shape.keys;
        let snapshot = self.core().snapshot(keys.storage)?;
        counter(snapshot.get(&keys.sequence())?.as_deref())
    }

    /// Brings the caches, here and in the driver, to include every commit made by any process before this
    /// call, so that a later read is linearizable. Costs one request to the engine if nothing changed.
    pub fn refresh(&self) -> Result<()> {
        let opened = self.opened();
        let core = self.core();
        match opened.shape.keys.storage {
            Storage::Ram => opened.cache.catch_up(&opened.shape, &core.ram.snapshot()),
            Storage::Engine => {
                core.driver.catch_up()?;
                if !opened.cache.is_enabled() {
                    return Ok(());
                }
                follow::catch_up(
                    &opened.cache,
                    &opened.shape,
                    &*core.driver,
                    &core.cache_update_lock,
                )
            }
        }
    }

    /// The index with a name.
    pub fn index(&self, name: &str) -> Result<Index<T>> {
        let opened = self.opened();
        match opened.shape.slot(name) {
            Ok(slot) => Ok(Index::new(self.clone(), opened, slot)),
            Err(_) => {
                let opened = self.reopen()?;
                let slot = opened.shape.slot(name)?;
                Ok(Index::new(self.clone(), opened, slot))
            }
        }
    }
}

impl<T: Document> Opened<T> {
    /// Reads a document of a snapshot, and caches it if the policy requires it.
    pub(crate) fn read(&self, snapshot: &dyn Snapshot, key: u64) -> Result<Option<Arc<T>>> {
        let row = snapshot.get(&self.shape.keys.document(key))?;
        row.map(|row| self.decode_row(snapshot.version(), key, &row))
            .transpose()
    }
}
