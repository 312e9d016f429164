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
        is_meant: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Arc<T>>> {
        if let Some(kept) = self.kept(key, &is_meant)? {
            return Ok(Some(kept));
        }
        let document = self.opened.read(snapshot, key)?;
        self.if_meant(document, &is_meant)
    }

    /// Like [`Self::document`] for many entries; each document must have the value of its entry.
    pub(super) fn documents(
        &self,
        snapshot: &dyn Snapshot,
        keys: &[u64],
        is_meant: impl Fn(usize, &[u8]) -> bool,
    ) -> Result<Vec<Option<Arc<T>>>> {
        let places = keys.iter().enumerate();
        let kept = places.map(|(place, key)| self.kept(*key, &|full| is_meant(place, full)));
        let kept: Vec<_> = kept.collect::<Result<_>>()?;
        let unknown = keys.iter().zip(&kept).filter(|(_, kept)| kept.is_none());
        let unknown: Vec<_> = unknown.map(|(key, _)| *key).collect();
        let mut read = self.opened.read_many(snapshot, &unknown)?.into_iter();
        let places = kept.into_iter().enumerate();
        let documents = places.map(|(place, kept)| match kept {
            Some(kept) => Ok(Some(kept)),
            None => self.if_meant(read.next().flatten(), &|full| is_meant(place, full)),
        });
        documents.collect()
    }

    fn kept(&self, key: u64, is_meant: &dyn Fn(&[u8]) -> bool) -> Result<Option<Arc<T>>> {
        let recent = self.opened.cache.recent();
        match recent.and_then(|recent| recent.get(key)) {
            Some(kept) if self.has_value(&kept, is_meant)? => Ok(Some(kept)),
            _ => Ok(None),
        }
    }

    /// A document that was read, unless it no longer matches the entry that refers to it.
    fn if_meant(
        &self,
        document: Option<Arc<T>>,
        is_meant: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Arc<T>>> {
        // The entries and the documents of one snapshot are consistent.
        let is_sure = self.opened.resident().is_none();
        match document {
            Some(document) if is_sure || self.has_value(&document, is_meant)? => Ok(Some(document)),
            _ => Ok(None),
        }
    }

    fn has_value(&self, document: &T, is_meant: &dyn Fn(&[u8]) -> bool) -> Result<bool> {
        if !self.bound().is_known() {
            return Ok(true);
        }
        let values = self.bound().values(document)?;
        Ok(values.iter().any(|value| is_meant(value.full())))
    }
}
