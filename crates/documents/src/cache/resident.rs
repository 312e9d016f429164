//! Indexes, and depending on the policy documents, in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use espalier_keyspace::{Direction, Version};
use parking_lot::RwLock;

use super::fact::Fact;
use super::index::{Index, documents};
use crate::document::Document;
use crate::extract::Values;
use crate::joining::{Joining, join};
use crate::shape::Shape;
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
    pub(super) held: RwLock<Held<T>>,
}

pub(super) struct Held<T> {
    documents: BTreeMap<u64, Known<T>>,
    indexes: Vec<Index<T>>,
    /// The versions at which documents were deleted, until no older state can arrive.
    deleted: HashMap<u64, Version>,
    /// The number of commits that are certainly included.
    pub(super) sequence: u64,
}

/// A cached document, or its values.
struct Known<T> {
    version: Version,
    hash: u64,
    kept: Kept<T>,
}

enum Kept<T> {
    Document(Arc<T>),
    /// Its values in each index, so that its entries can be removed.
    Values(Box<[Values]>),
}

impl<T: Document> Resident<T> {
    pub(super) fn new(indexes: usize) -> Self {
        Self {
            held: RwLock::new(Held {
                documents: BTreeMap::new(),
                indexes: (0..indexes).map(|_| Index::new()).collect(),
                deleted: HashMap::new(),
                sequence: 0,
            }),
        }
    }

    /// The number of documents.
    pub(crate) fn count(&self) -> u64 {
        self.held.read().documents.len() as u64
    }

    /// A document.
    pub(crate) fn get(&self, key: u64) -> Option<Arc<T>> {
        match &self.held.read().documents.get(&key)?.kept {
            Kept::Document(document) => Some(Arc::clone(document)),
            Kept::Values(_) => None,
        }
    }

    /// The hash of a document's row.
    pub(super) fn hash_of(&self, key: u64) -> Option<u64> {
        let held = self.held.read();
        held.documents.get(&key).map(|known| known.hash)
    }

    /// The document that has a value.
    pub(crate) fn get_by(&self, slot: usize, value: &Value) -> Option<(u64, Option<Arc<T>>)> {
        let held = self.held.read();
        let (key, document) = held.indexes[slot].get(value)?;
        Some((key, document.cloned()))
    }

    /// The entries that match a query.
    pub(crate) fn find(&self, slot: usize, query: &Query) -> Vec<Hit<T>> {
        self.held.read().indexes[slot].find(query)
    }

    /// The documents that match a query.
    pub(crate) fn documents(&self, slot: usize, query: &Query) -> Vec<(u64, Arc<T>)> {
        self.held.read().indexes[slot].documents(query)
    }

    /// The intersection or the union of the documents that have these values.
    pub(crate) fn joined_documents(
        &self,
        slot: usize,
        values: &[Value],
        joining: Joining,
    ) -> Vec<(u64, Arc<T>)> {
        let held = self.held.read();
        let lists = values.iter().map(|value| held.indexes[slot].listed(value));
        documents(&join(lists.collect(), joining))
    }

    /// The keys of the documents that have a value.
    pub(crate) fn keys(&self, slot: usize, value: &Value) -> Vec<u64> {
        let held = self.held.read();
        let listed = held.indexes[slot].listed(value).into_iter();
        listed.map(|(key, _)| key).collect()
    }

    /// Documents in the order of keys.
    pub(crate) fn list(&self, selection: &Selection) -> Vec<(u64, Arc<T>)> {
        let before = selection.before.unwrap_or(u64::MAX);
        if selection.from >= before {
            return Vec::new();
        }
        let held = self.held.read();
        let range = held.documents.range(selection.from..before);
        let document = |(key, known): (&u64, &Known<T>)| match &known.kept {
            Kept::Document(document) => Some((*key, Arc::clone(document))),
            Kept::Values(_) => None,
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
    pub(super) fn commit(&self, shape: &Shape<T>, facts: Vec<Fact<T>>, before: u64) -> Result<()> {
        let mut held = self.held.write();
        if held.sequence == before {
            held.sequence = before + 1;
        }
        let mut facts = facts.into_iter();
        facts.try_for_each(|fact| held.apply(shape, fact, Order::AfterSame))
    }

    /// The documents whose cached state is older than this version.
    pub(super) fn unknown<R: Copy>(&self, rows: &[(u64, R)], version: Version) -> Vec<(u64, R)> {
        let held = self.held.read();
        let rows = rows.iter().copied();
        rows.filter(|(key, _)| held.newest(*key).is_none_or(|known| known < version))
            .collect()
    }

    /// Applies document states from a watch or a snapshot. With a `sequence`, all commits up to it are then
    /// included.
    pub(super) fn learn(
        &self,
        shape: &Shape<T>,
        facts: Vec<Fact<T>>,
        sequence: Option<u64>,
    ) -> Result<()> {
        let mut held = self.held.write();
        for fact in facts {
            held.apply(shape, fact, Order::BeforeSame)?;
        }
        held.sequence = held.sequence.max(sequence.unwrap_or(0));
        Ok(())
    }

    /// Drops deletions that are too old to matter.
    pub(super) fn forget_deleted(&self, followed: Version) {
        let mut held = self.held.write();
        if !held.deleted.is_empty() {
            held.deleted.retain(|_, version| *version > followed);
        }
    }
}

/// Whether a state replaces one of the same version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    AfterSame,
    BeforeSame,
}

impl<T: Document> Held<T> {
    /// The keys of the documents in a range.
    pub(super) fn keys(&self, from: u64, before: u64) -> impl Iterator<Item = u64> {
        let range = self.documents.range(from..before.max(from));
        range.map(|(key, _)| *key)
    }

    /// The version of the cached state of a document.
    fn newest(&self, key: u64) -> Option<Version> {
        let known = self.documents.get(&key).map(|known| known.version);
        known.max(self.deleted.get(&key).copied())
    }

    fn is_overtaken(&self, fact: &Fact<T>, order: Order) -> bool {
        self.newest(fact.key).is_some_and(|known| match order {
            Order::AfterSame => known > fact.version,
            Order::BeforeSame => known >= fact.version,
        })
    }

    fn apply(&mut self, shape: &Shape<T>, fact: Fact<T>, order: Order) -> Result<()> {
        if self.is_overtaken(&fact, order) {
            return Ok(());
        }
        let key = fact.key;
        let Some(present) = fact.present else {
            self.deleted.insert(key, fact.version);
            return self.take_out(shape, key);
        };
        let values = match present.values {
            Some(values) => values,
            None => shape.values_to_keep(&present.document)?,
        };
        self.take_out(shape, key)?;
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
        let kept = if keeps {
            Kept::Document(present.document)
        } else {
            Kept::Values(values.into())
        };
        let known = Known {
            version: fact.version,
            hash: present.hash,
            kept,
        };
        self.documents.insert(key, known);
        Ok(())
    }

    fn take_out(&mut self, shape: &Shape<T>, key: u64) -> Result<()> {
        let Some(known) = self.documents.remove(&key) else {
            return Ok(());
        };
        let computed;
        let values: &[Values] = match &known.kept {
            Kept::Document(document) => {
                computed = shape.values_to_keep(document)?;
                &computed
            }
            Kept::Values(values) => values,
        };
        for (index, values) in self.indexes.iter_mut().zip(values) {
            values.iter().for_each(|value| index.remove(value, key));
        }
        Ok(())
    }
}
