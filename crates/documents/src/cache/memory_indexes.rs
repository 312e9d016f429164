//! Indexes, and depending on the policy documents, in memory.

use std::collections::HashMap;
use std::sync::Arc;

use espalier_keyspace::Version;
use parking_lot::RwLock;

use super::document_state::DocumentState;
use super::index::Index;
use super::resident_documents::{ResidentDocument, ResidentDocuments};
use crate::bound_definition::Shape;
use crate::document::Document;
use crate::index_values::Values;
use crate::limits::CACHED_MAX;
use crate::set_operation::{SetOperation, combine};
use crate::value::Bytes;
use crate::{Error, Query, Result, Selection, Value};

/// A match of a query in memory.
pub(crate) struct Hit<T> {
    pub(crate) key: u64,
    /// The full encoding of the value, if it is not the value of the query.
    pub(crate) full: Option<Bytes>,
    /// The document, if documents are cached.
    pub(crate) document: Option<Arc<T>>,
}

/// All indexes of a collection, and all documents if the policy includes them.
pub(crate) struct Resident<T> {
    pub(super) state: RwLock<ResidentState<T>>,
}

pub(super) struct ResidentState<T> {
    documents: ResidentDocuments<T>,
    indexes: Vec<Index<T>>,
    /// If the policy does not keep documents: the entries of each, by its slot, so that they can be removed.
    entries: HashMap<u32, Box<[ResidentEntry]>>,
    /// The versions at which documents were deleted, until no older state can arrive.
    deleted: HashMap<u64, Version>,
    /// The number of commits that are certainly included.
    pub(super) sequence: u64,
}

/// A document's entry in an index: the number of the index, and the slot of the value.
struct ResidentEntry {
    index: u32,
    value: u32,
}

impl<T: Document> Resident<T> {
    pub(super) fn new(indexes: usize) -> Self {
        Self {
            state: RwLock::new(ResidentState {
                documents: ResidentDocuments::new(),
                indexes: (0..indexes).map(|_| Index::new()).collect(),
                entries: HashMap::new(),
                deleted: HashMap::new(),
                sequence: 0,
            }),
        }
    }

    /// The number of documents.
    pub(crate) fn count(&self) -> u64 {
        self.state.read().documents.count()
    }

    /// A document.
    pub(crate) fn get(&self, key: u64) -> Option<Arc<T>> {
        self.state.read().documents.get(key)?.document.clone()
    }

    /// The hash of a document's row.
    pub(super) fn hash_of(&self, key: u64) -> Option<u64> {
        let state = self.state.read();
        state.documents.get(key).map(|current| current.hash)
    }

    /// The document that has a value.
    pub(crate) fn get_by(&self, slot: usize, value: &Value) -> Option<(u64, Option<Arc<T>>)> {
        let state = self.state.read();
        let (found, document) = state.indexes[slot].get(value)?;
        let document = document.or_else(|| state.documents.document(found));
        Some((state.documents.key(found), document.cloned()))
    }

    /// Like [`Self::get_by`], without the key, which needs another access to memory.
    pub(crate) fn document_by(&self, slot: usize, value: &Value) -> Option<Arc<T>> {
        let state = self.state.read();
        let (found, document) = state.indexes[slot].get(value)?;
        let document = document.or_else(|| state.documents.document(found));
        document.cloned()
    }

    /// The entries that match a query.
    pub(crate) fn find(&self, slot: usize, query: &Query) -> Vec<Hit<T>> {
        let state = self.state.read();
        state.indexes[slot].find(query, &state.documents)
    }

    /// The documents that match a query, if the documents are cached.
    pub(crate) fn documents(&self, slot: usize, query: &Query) -> Vec<(u64, Arc<T>)> {
        if let Some(value) = query.unlimited_value() {
            let state = self.state.read();
            return state
                .documents
                .documents(&state.indexes[slot].listed(value));
        }
        let hits = self.find(slot, query).into_iter();
        hits.filter_map(|hit| Some((hit.key, hit.document?)))
            .collect()
    }

    /// The intersection or the union of the documents that have these values.
    pub(crate) fn combined_documents(
        &self,
        slot: usize,
        values: &[Value],
        operation: SetOperation,
    ) -> Vec<(u64, Arc<T>)> {
        let state = self.state.read();
        let lists = values.iter().map(|value| state.keyed(slot, value));
        let combined = combine(lists.collect(), operation).into_iter();
        let slots: Vec<_> = combined.map(|(_, slot)| slot).collect();
        state.documents.documents(&slots)
    }

    /// The keys of the documents that have a value.
    pub(crate) fn keys(&self, slot: usize, value: &Value) -> Vec<u64> {
        let keyed = self.state.read().keyed(slot, value).into_iter();
        keyed.map(|(key, _)| key).collect()
    }

    /// Documents in the order of keys.
    pub(crate) fn list(&self, selection: &Selection) -> Vec<(u64, Arc<T>)> {
        self.state.read().documents.list(selection)
    }

    /// Applies the changes of a commit; `before` is the number of commits in its snapshot.
    pub(super) fn commit(
        &self,
        shape: &Shape<T>,
        updates: Vec<DocumentState<T>>,
        before: u64,
    ) -> Result<()> {
        let mut state = self.state.write();
        if state.sequence == before {
            state.sequence = before + 1;
        }
        let mut updates = updates.into_iter();
        updates.try_for_each(|update| state.apply(shape, update, SameVersion::Replace))
    }

    /// The documents whose cached state is older than this version.
    pub(super) fn outdated<R: Copy>(&self, rows: &[(u64, R)], version: Version) -> Vec<(u64, R)> {
        let state = self.state.read();
        let rows = rows.iter().copied();
        rows.filter(|(key, _)| {
            state
                .version_of(*key)
                .is_none_or(|current| current < version)
        })
        .collect()
    }

    /// Applies document states from a watch or a snapshot. With a `sequence`, all commits up to it are then
    /// included.
    pub(super) fn apply_all(
        &self,
        shape: &Shape<T>,
        updates: Vec<DocumentState<T>>,
        sequence: Option<u64>,
    ) -> Result<()> {
        let mut state = self.state.write();
        for update in updates {
            state.apply(shape, update, SameVersion::Keep)?;
        }
        state.sequence = state.sequence.max(sequence.unwrap_or(0));
        Ok(())
    }

    /// Drops deletions that are too old to matter.
    pub(super) fn drop_old_deletions(&self, followed: Version) {
        let mut state = self.state.write();
        if !state.deleted.is_empty() {
            state.deleted.retain(|_, version| *version > followed);
        }
    }
}

/// Whether a state replaces one of the same version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SameVersion {
    Replace,
    Keep,
}

impl<T: Document> ResidentState<T> {
    /// The keys and the slots of the documents that have a value.
    fn keyed(&self, slot: usize, value: &Value) -> Vec<(u64, u32)> {
        let listed = self.indexes[slot].listed(value).into_iter();
        listed
            .map(|document| (self.documents.key(document), document))
            .collect()
    }

    /// The keys of the documents in a range.
    pub(super) fn keys(&self, from: u64, before: u64) -> impl Iterator<Item = u64> {
        self.documents.keys(from, before)
    }

    /// The version of the cached state of a document.
    fn version_of(&self, key: u64) -> Option<Version> {
        let current = self.documents.get(key).map(|current| current.version);
        current.max(self.deleted.get(&key).copied())
    }

    fn is_outdated(&self, update: &DocumentState<T>, same_version: SameVersion) -> bool {
        self.version_of(update.key)
            .is_some_and(|current| match same_version {
                SameVersion::Replace => current > update.version,
                SameVersion::Keep => current >= update.version,
            })
    }

    fn apply(
        &mut self,
        shape: &Shape<T>,
        update: DocumentState<T>,
        same_version: SameVersion,
    ) -> Result<()> {
        if self.is_outdated(&update, same_version) {
            return Ok(());
        }
        let key = update.key;
        let Some(present) = update.present else {
            self.deleted.insert(key, update.version);
            return self.remove(shape, key);
        };
        let values = match present.values {
            Some(values) => values,
            None => shape.values_for_cache(&present.document)?,
        };
        self.check_room(&values)?;
        self.remove(shape, key)?;
        if !self.deleted.is_empty() {
            self.deleted.remove(&key);
        }
        let keeps = shape.policy.keeps_documents();
        let document = self.documents.insert(ResidentDocument {
            key,
            version: update.version,
            hash: present.hash,
            document: keeps.then_some(present.document),
        });
        let mut entries = Vec::new();
        for (number, (index, values)) in (0..).zip(self.indexes.iter_mut().zip(&values)) {
            for value in values {
                let value = index.insert(value, document, &self.documents);
                if !keeps {
                    entries.push(ResidentEntry {
                        index: number,
                        value,
                    });
                }
            }
        }
        if !keeps {
            self.entries.insert(document, entries.into());
        }
        Ok(())
    }

    /// Fails if a document with these values might not fit.
    fn check_room(&self, values: &[Values]) -> Result<()> {
        let mut indexes = self.indexes.iter().zip(values);
        if self.documents.has_room() && indexes.all(|(index, values)| index.has_room(values.len()))
        {
            return Ok(());
        }
        Err(Error::limit(format!(
            "the cache is full: it holds at most {CACHED_MAX} documents, and as many values of an index"
        )))
    }

    fn remove(&mut self, shape: &Shape<T>, key: u64) -> Result<()> {
        let Some(document) = self.documents.slot(key) else {
            return Ok(());
        };
        match self.documents.document(document) {
            Some(removed) => {
                let values = shape.values_for_cache(removed)?;
                for (index, values) in self.indexes.iter_mut().zip(&values) {
                    for value in values {
                        index.remove(value, document, &self.documents);
                    }
                }
            }
            None => {
                for entry in self.entries.remove(&document).into_iter().flatten() {
                    let index = &mut self.indexes[entry.index as usize];
                    index.remove_from_slot(entry.value, document, &self.documents);
                }
            }
        }
        self.documents.remove(document);
        Ok(())
    }
}
