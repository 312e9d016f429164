//! Reads the documents that index entries refer to.

use std::sync::Arc;

use espalier_keyspace::Snapshot;

use crate::document::Document;
use crate::{Index, Result};

impl<T: Document> Index<T> {
    /// A document, if it still has the value: the cache may be of another time than the snapshot.
    pub(super) fn document(
        &self,
        snapshot: &dyn Snapshot,
        key: u64,
        is_match: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Arc<T>>> {
        if let Some(cached) = self.cached(key, &is_match)? {
            return Ok(Some(cached));
        }
        let document = self.opened.read(snapshot, key)?;
        self.if_matching(document, &is_match)
    }

    /// Like [`Self::document`] for many entries; each document must have the value of its entry.
    pub(super) fn documents(
        &self,
        snapshot: &dyn Snapshot,
        keys: &[u64],
        is_match: impl Fn(usize, &[u8]) -> bool,
    ) -> Result<Vec<Option<Arc<T>>>> {
        let places = keys.iter().enumerate();
        let cached = places.map(|(place, key)| self.cached(*key, &|full| is_match(place, full)));
        let cached: Vec<_> = cached.collect::<Result<_>>()?;
        let uncached = keys
            .iter()
            .zip(&cached)
            .filter(|(_, cached)| cached.is_none());
        let uncached: Vec<_> = uncached.map(|(key, _)| *key).collect();
        let mut read = self.opened.read_many(snapshot, &uncached)?.into_iter();
        let places = cached.into_iter().enumerate();
        let documents = places.map(|(place, cached)| match cached {
            Some(cached) => Ok(Some(cached)),
            None => self.if_matching(read.next().flatten(), &|full| is_match(place, full)),
        });
        documents.collect()
    }

    fn cached(&self, key: u64, is_match: &dyn Fn(&[u8]) -> bool) -> Result<Option<Arc<T>>> {
        let recent = self.opened.cache.recent();
        match recent.and_then(|recent| recent.get(key)) {
            Some(cached) if self.has_value(&cached, is_match)? => Ok(Some(cached)),
            _ => Ok(None),
        }
    }

    /// A document that was read, unless it no longer matches the entry that refers to it.
    fn if_matching(
        &self,
        document: Option<Arc<T>>,
        is_match: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Arc<T>>> {
        // The entries and the documents of one snapshot are consistent.
        let is_consistent = self.opened.resident().is_none();
        match document {
            Some(document) if is_consistent || self.has_value(&document, is_match)? => {
                Ok(Some(document))
            }
            _ => Ok(None),
        }
    }

    fn has_value(&self, document: &T, is_match: &dyn Fn(&[u8]) -> bool) -> Result<bool> {
        if !self.bound().is_known() {
            return Ok(true);
        }
        let values = self.bound().values(document)?;
        Ok(values.iter().any(|value| is_match(value.full())))
    }
}
