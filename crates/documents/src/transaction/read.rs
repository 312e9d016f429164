//! Reads in a transaction; they see its changes.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::Transaction;
use crate::collection::Opened;
use crate::definition::Kind;
use crate::document::Document;
use crate::entries;
use crate::row_reader::Reader;
use crate::value::IntoValue;
use crate::{Collection, Query, Result, Selection};

impl Transaction<'_> {
    /// The document with a key.
    pub fn get<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
    ) -> Result<Option<Arc<T>>> {
        let opened = self.opened(collection)?;
        self.document(&opened, key)
    }

    pub(super) fn document<T: Document>(
        &mut self,
        opened: &Opened<T>,
        key: u64,
    ) -> Result<Option<Arc<T>>> {
        let row = self.rows.read(&opened.shape.keys.document(key))?;
        let document = row.map(|row| opened.shape.decode(key, row));
        Ok(document.transpose()?.map(Arc::new))
    }

    /// The key of the document that has a value of a unique index.
    pub fn key_by<T: Document>(
        &mut self,
        collection: &Collection<T>,
        index: &str,
        value: impl IntoValue,
    ) -> Result<Option<u64>> {
        let opened = self.opened(collection)?;
        let slot = opened.unique_slot(index)?;
        let Some(value) = value.into_value() else {
            return Ok(None);
        };
        opened.shape.indexes[slot].check(&value)?;
        entries::unique_key(&mut self.rows, &opened.shape.indexes[slot].prefix, &value)
    }

    /// The document that has a value of a unique index, and its key.
    pub fn get_by<T: Document>(
        &mut self,
        collection: &Collection<T>,
        index: &str,
        value: impl IntoValue,
    ) -> Result<Option<(u64, Arc<T>)>> {
        let Some(key) = self.key_by(collection, index, value)? else {
            return Ok(None);
        };
        let document = self.get(collection, key)?;
        Ok(document.map(|document| (key, document)))
    }

    /// The keys of the documents that match a query of an index.
    pub fn keys<T: Document>(
        &mut self,
        collection: &Collection<T>,
        index: &str,
        query: impl Into<Query>,
    ) -> Result<Vec<u64>> {
        let opened = self.opened(collection)?;
        let slot = opened.shape.slot(index)?;
        self.rows.read(&opened.shape.keys.sequence())?;
        let index = &opened.shape.indexes[slot];
        let query = query.into();
        index.check_query(&query)?;
        let found = entries::find(&mut self.rows, &index.prefix, index.kind, &query)?;
        Ok(found.into_iter().map(|entry| entry.key).collect())
    }

    /// The documents that match a query of an index, with their keys.
    pub fn find<T: Document>(
        &mut self,
        collection: &Collection<T>,
        index: &str,
        query: impl Into<Query>,
    ) -> Result<Vec<(u64, Arc<T>)>> {
        let keys = self.keys(collection, index, query)?;
        let opened = self.opened(collection)?;
        let rows = keys.iter().map(|key| opened.shape.keys.document(*key));
        self.rows.load(&rows.collect::<Vec<_>>())?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some(document) = self.get(collection, key)? {
                found.push((key, document));
            }
        }
        Ok(found)
    }

    /// The documents of a selection, with their keys.
    pub fn list<T: Document>(
        &mut self,
        collection: &Collection<T>,
        selection: Selection,
    ) -> Result<Vec<(u64, Arc<T>)>> {
        let opened = self.opened(collection)?;
        self.rows.read(&opened.shape.keys.sequence())?;
        let shape = &opened.shape;
        let mut found = Vec::new();
        let mut passed = 0;
        if selection.limit == 0 {
            return Ok(found);
        }
        let range = shape.keys.documents(selection.from, selection.before);
        self.rows
            .scan(&range, selection.direction, &mut |row, stored| {
                let Some(key) = shape.keys.document_key(row) else {
                    return Ok(ControlFlow::Continue(()));
                };
                passed += 1;
                if passed > selection.offset {
                    found.push((key, Arc::new(shape.decode(key, stored)?)));
                }
                Ok(if found.len() >= selection.limit {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            })?;
        Ok(found)
    }
}

impl<T: Document> Opened<T> {
    /// The slot of a unique index.
    pub(crate) fn unique_slot(&self, name: &str) -> Result<usize> {
        let slot = self.shape.slot(name)?;
        if self.shape.indexes[slot].kind == Kind::Unique {
            return Ok(slot);
        }
        Err(crate::Error::argument(format!(
            "index {name:?} of {:?} is not unique",
            self.shape.name
        )))
    }
}
