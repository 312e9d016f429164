//! Indexes, and depending on the policy documents, in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use espalier_keyspace::{Direction, Version};
use parking_lot::RwLock;

use super::document_state::DocumentState;
use super::index::{Index, documents};
use crate::bound_definition::Shape;
use crate::document::Document;
use crate::index_values::Values;
use crate::set_operation::{SetOperation, combine};
use crate::value::Bytes;
use crate::{Query, Result, Selection, Value};

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
    documents: BTreeMap<u64, ResidentDocument<T>>,
    indexes: Vec<Index<T>>,
    /// The versions at which documents were deleted, until no older state can arrive.
    deleted: HashMap<u64, Version>,
    /// The number of commits that are certainly included.
    pub(super) sequence: u64,
}

/// A cached document, or its values.
struct ResidentDocument<T> {
    version: Version,
    hash: u64,
    content: ResidentContent<T>,
}

enum ResidentContent<T> {
    Document(Arc<T>),
    /// Its values in each index, so that its entries can be removed.
    Values(Box<[Values]>),
}

impl<T: Document> Resident<T> {
    pub(super) fn new(indexes: usize) -> Self {
        Self {
            state: RwLock::new(ResidentState {
                documents: BTreeMap::new(),
                indexes: (0..indexes).map(|_| Index::new()).collect(),
                deleted: HashMap::new(),
                sequence: 0,
            }),
        }
    }

    /// The number of documents.
    pub(crate) fn count(&self) -> u64 {
        self.state.read().documents.len() as u64
    }

    /// A document.
    pub(crate) fn get(&self, key: u64) -> Option<Arc<T>> {
        match &self.state.read().documents.get(&key)?.content {
            ResidentContent::Document(document) => Some(Arc::clone(document)),
            ResidentContent::Values(_) => None,
        }
    }

    /// The hash of a document's row.
    pub(super) fn hash_of(&self, key: u64) -> Option<u64> {
        let state = self.state.read();
        state.documents.get(&key).map(|current| current.hash)
    }

    /// The document that has a value.
    pub(crate) fn get_by(&self, slot: usize, value: &Value) -> Option<(u64, Option<Arc<T>>)> {
        let state = self.state.read();
        let (key, document) = state.indexes[slot].get(value)?;
        Some((key, document.cloned()))
    }

    /// The entries that match a query.
    pub(crate) fn find(&self, slot: usize, query: &Query) -> Vec<Hit<T>> {
        self.state.read().indexes[slot].find(query)
    }

    /// The documents that match a query.
    pub(crate) fn documents(&self, slot: usize, query: &Query) -> Vec<(u64, Arc<T>)> {
        self.state.read().indexes[slot].documents(query)
    }

    /// The intersection or the union of the documents that have these values.
    pub(crate) fn combined_documents(
        &self,
        slot: usize,
        values: &[Value],
        operation: SetOperation,
    ) -> Vec<(u64, Arc<T>)> {
        let state = self.state.read();
        let lists = values.iter().map(|value| state.indexes[slot].listed(value));
        documents(&combine(lists.collect(), operation))
    }

    /// The keys of the documents that have a value.
    pub(crate) fn keys(&self, slot: usize, value: &Value) -> Vec<u64> {
        let state = self.state.read();
        let listed = state.indexes[slot].listed(value).into_iter();
        listed.map(|(key, _)| key).collect()
    }

    /// Documents in the order of keys.
    pub(crate) fn list(&self, selection: &Selection) -> Vec<(u64, Arc<T>)> {
        let before = selection.before.unwrap_or(u64::MAX);
        if selection.from >= before {
            return Vec::new();
        }
        let state = self.state.read();
        let range = state.documents.range(selection.from..before);
        let document = |(key, current): (&u64, &ResidentDocument<T>)| match &current.content {
            ResidentContent::Document(document) => Some((*key, Arc::clone(document))),
            ResidentContent::Values(_) => None,
        };
        let (offset, limit) = (selection.offset, selection.limit);
        match selection.direction {
            Direction::Forward => range
                .skip(offset)
                .take(limit)
                .filter_map(document)
                .collect(),
            Direction::Backward => {
                let range = range.rev().skip(offset).take(limit);
                range.filter_map(document).collect()
            }
        }
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
    /// The keys of the documents in a range.
    pub(super) fn keys(&self, from: u64, before: u64) -> impl Iterator<Item = u64> {
        let range = self.documents.range(from..before.max(from));
        range.map(|(key, _)| *key)
    }

    /// The version of the cached state of a document.
    fn version_of(&self, key: u64) -> Option<Version> {
        let current = self.documents.get(&key).map(|current| current.version);
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
        self.remove(shape, key)?;
        if !self.deleted.is_empty() {
            self.deleted.remove(&key);
        }
        let keeps = shape.policy.keeps_documents();
        let document = keeps.then_some(&present.document);
        for (index, values) in self.indexes.iter_mut().zip(&values) {
            for value in values {
                index.insert(value, key, document);
            }
        }
        let content = if keeps {
            ResidentContent::Document(present.document)
        } else {
            ResidentContent::Values(values.into())
        };
        let current = ResidentDocument {
            version: update.version,
            hash: present.hash,
            content,
        };
        self.documents.insert(key, current);
        Ok(())
    }

    fn remove(&mut self, shape: &Shape<T>, key: u64) -> Result<()> {
        let Some(current) = self.documents.remove(&key) else {
            return Ok(());
        };
        let computed;
        let values: &[Values] = match &current.content {
            ResidentContent::Document(document) => {
                computed = shape.values_for_cache(document)?;
                &computed
            }
            ResidentContent::Values(values) => values,
        };
        for (index, values) in self.indexes.iter_mut().zip(values) {
            values.iter().for_each(|value| index.remove(value, key));
        }
        Ok(())
    }
}
