//! The documents of one value of an index in memory.

use std::sync::Arc;

use espalier_keyspace::Direction;

use super::memory_indexes::Hit;
use super::sorted_map::Runs;

/// The documents of a value: keys, and the documents themselves if they are cached.
pub(super) enum Postings<T> {
    One(u64, Option<Arc<T>>),
    Many(Runs<Option<Arc<T>>>),
}

impl<T> Postings<T> {
    /// A list of one document.
    pub(super) fn of(key: u64, document: Option<Arc<T>>) -> Self {
        Self::One(key, document)
    }

    /// The document with the smallest key.
    pub(super) fn first(&self) -> Option<(u64, Option<&Arc<T>>)> {
        match self {
            Self::One(key, document) => Some((*key, document.as_ref())),
            Self::Many(documents) => {
                let (key, document) = documents.iter().next()?;
                Some((key, document.as_ref()))
            }
        }
    }

    /// Inserts a document, or replaces the older one with its key.
    pub(super) fn insert(&mut self, key: u64, document: Option<Arc<T>>) {
        match self {
            Self::One(own_key, own_document) if *own_key == key => *own_document = document,
            Self::One(own_key, own_document) => {
                let mut both = Runs::default();
                both.insert(*own_key, own_document.take());
                both.insert(key, document);
                *self = Self::Many(both);
            }
            Self::Many(documents) => documents.insert(key, document),
        }
    }

    /// Removes a document; returns whether the list is empty now.
    pub(super) fn remove(&mut self, key: u64) -> bool {
        match self {
            Self::One(own_key, _) => *own_key == key,
            Self::Many(documents) => {
                documents.remove(key);
                documents.is_empty()
            }
        }
    }

    /// Appends all documents to a list.
    pub(super) fn list<'a>(&'a self, listed: &mut Vec<(u64, Option<&'a Arc<T>>)>) {
        match self {
            Self::One(key, document) => listed.push((*key, document.as_ref())),
            Self::Many(documents) => {
                let documents = documents.iter();
                listed.extend(documents.map(|(key, document)| (key, document.as_ref())));
            }
        }
    }

    /// Calls `visit` with each document, in ascending or descending order of keys.
    pub(super) fn each(&self, direction: Direction, visit: &mut dyn FnMut(u64, Option<&Arc<T>>)) {
        match (self, direction) {
            (Self::One(key, document), _) => visit(*key, document.as_ref()),
            (Self::Many(documents), Direction::Forward) => documents
                .iter()
                .for_each(|(key, document)| visit(key, document.as_ref())),
            (Self::Many(documents), Direction::Backward) => documents
                .iter()
                .rev()
                .for_each(|(key, document)| visit(key, document.as_ref())),
        }
    }

    /// At most `limit` documents, after skipping `offset`.
    pub(super) fn select(&self, direction: Direction, offset: usize, limit: usize) -> Vec<Hit<T>> {
        let hit = |key: u64, document: &Option<Arc<T>>| Hit {
            key,
            full: None,
            document: document.clone(),
        };
        match (self, direction) {
            (Self::One(key, document), _) if offset == 0 && limit > 0 => vec![hit(*key, document)],
            (Self::One(..), _) => Vec::new(),
            (Self::Many(documents), Direction::Forward) => {
                let selected = documents.iter().skip(offset).take(limit);
                selected.map(|(key, document)| hit(key, document)).collect()
            }
            (Self::Many(documents), Direction::Backward) => {
                let selected = documents.iter().rev().skip(offset).take(limit);
                selected.map(|(key, document)| hit(key, document)).collect()
            }
        }
    }
}
