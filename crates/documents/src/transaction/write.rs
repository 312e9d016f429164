//! Changes of documents and of their index entries.

use std::ops::ControlFlow;
use std::sync::Arc;

use espalier_keyspace::{Direction, KeyRange};

use super::Transaction;
use crate::bound_definition::{BoundIndex, Shape};
use crate::cache::Present;
use crate::collection::Opened;
use crate::definition::Kind;
use crate::document::{Document, EntityTag};
use crate::entries;
use crate::index_values::Values;
use crate::layout::{State, shared_entry_value, shared_row, unique_entry_value, unique_row};
use crate::limits::KEY_MAX;
use crate::row_reader::Reader;
use crate::value::IntoValue;
use crate::{Changed, Collection, Error, ErrorKind, Result, Value};

// Index entries are committed with their document: docs/decisions/0042.
impl Transaction<'_> {
    /// Adds a document and returns its key: the largest key ever used plus one, starting at 0.
    pub fn insert<T: Document>(
        &mut self,
        collection: &Collection<T>,
        document: impl Into<Arc<T>>,
    ) -> Result<u64> {
        let (opened, state) = self.opened_to_insert(collection)?;
        let key = state.next;
        self.change(
            collection,
            &opened,
            key,
            OldDocument::Nothing,
            Some(document.into()),
        )?;
        self.raise_next_key(&opened, state, key);
        Ok(key)
    }

    /// Sets the document of a key, which need not exist, and returns the old one; `None` if that is
    /// unreadable.
    pub fn put<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
        document: impl Into<Arc<T>>,
    ) -> Result<Option<Arc<T>>> {
        let opened = self.opened(collection)?;
        let stored = self.old_document(&opened, key)?;
        let old = stored.document().cloned();
        let is_new = matches!(stored, OldDocument::Nothing);
        self.change(collection, &opened, key, stored, Some(document.into()))?;
        if is_new {
            let state = self.state(&opened)?;
            self.raise_next_key(&opened, state, key);
        }
        Ok(old)
    }

    /// Adds a document with a key that must not exist.
    pub fn put_new<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
        document: impl Into<Arc<T>>,
    ) -> Result<()> {
        let opened = self.opened(collection)?;
        let row = opened.shape.keys.document(key);
        if self.rows.read(&row)?.is_some() {
            let message = format!("document {key} already exists in {:?}", collection.name());
            return Err(Error::new(ErrorKind::Exists, message));
        }
        self.put(collection, key, document).map(drop)
    }

    /// Changes the document of a key with `change`.
    pub fn update<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
        change: impl FnOnce(&mut T),
    ) -> Result<Arc<T>> {
        let opened = self.opened(collection)?;
        let Some(row) = self.rows.read(&opened.shape.keys.document(key))? else {
            return Err(Error::no_document(collection.name(), key));
        };
        let mut new = opened.shape.decode(key, row)?;
        let old = Arc::new(opened.shape.decode(key, row)?);
        change(&mut new);
        let new = Arc::new(new);
        let stored = OldDocument::Document(old);
        self.change(collection, &opened, key, stored, Some(Arc::clone(&new)))?;
        Ok(new)
    }

    /// Removes the document with a key and returns it.
    pub fn delete<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
    ) -> Result<Option<Arc<T>>> {
        let opened = self.opened(collection)?;
        let Some(old) = self.document(&opened, key)? else {
            return Ok(None);
        };
        let stored = OldDocument::Document(Arc::clone(&old));
        self.change(collection, &opened, key, stored, None)?;
        Ok(Some(old))
    }

    /// Removes the document with a key, also an unreadable one; returns whether it existed.
    pub fn remove<T: Document>(&mut self, collection: &Collection<T>, key: u64) -> Result<bool> {
        let opened = self.opened(collection)?;
        let stored = self.old_document(&opened, key)?;
        let exists = !matches!(stored, OldDocument::Nothing);
        if exists {
            self.change(collection, &opened, key, stored, None)?;
        }
        Ok(exists)
    }

    /// The current document of a key.
    pub(super) fn old_document<T: Document>(
        &mut self,
        opened: &Opened<T>,
        key: u64,
    ) -> Result<OldDocument<T>> {
        match self.document(opened, key) {
            Ok(None) => Ok(OldDocument::Nothing),
            Ok(Some(document)) => Ok(OldDocument::Document(document)),
            Err(error) if error.is_unreadable() => Ok(OldDocument::Unreadable),
            Err(error) => Err(error),
        }
    }

    /// Replaces the document that has the same value of a unique index, or adds one; returns the key.
    pub fn upsert<T: Document>(
        &mut self,
        collection: &Collection<T>,
        index: &str,
        document: impl Into<Arc<T>>,
    ) -> Result<u64> {
        let document = document.into();
        let opened = self.opened(collection)?;
        let bound = &opened.shape.indexes[opened.unique_slot(index)?];
        let value = bound.values(&document)?.into_iter().next();
        let existing_key = match value {
            Some(value) => self.key_by(collection, index, value)?,
            None => None,
        };
        match existing_key {
            Some(key) => self.put(collection, key, document).map(|_| key),
            None => self.insert(collection, document),
        }
    }

    /// Changes the document that has a value of a unique index.
    pub fn update_by<T: Document>(
        &mut self,
        collection: &Collection<T>,
        index: &str,
        value: impl IntoValue,
        change: impl FnOnce(&mut T),
    ) -> Result<Arc<T>> {
        let value = value.into_value();
        let shown = value
            .as_ref()
            .map_or_else(|| "null".to_owned(), ToString::to_string);
        match self.key_by(collection, index, value)? {
            Some(key) => self.update(collection, key, change),
            None => Err(Error::new(
                ErrorKind::Missing,
                format!("index {index:?} of {:?} has no {shown}", collection.name()),
            )),
        }
    }

    /// Requires that the document of a key is in a given state.
    pub fn require<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
        tag: Option<EntityTag>,
    ) -> Result<()> {
        let opened = self.opened(collection)?;
        let row = self.rows.read(&opened.shape.keys.document(key))?;
        if row.map(EntityTag::of) == tag {
            return Ok(());
        }
        let message = format!(
            "document {key} of {:?} was changed in the meantime",
            collection.name()
        );
        Err(Error::new(ErrorKind::Changed, message))
    }

    /// The tag of a document with the changes of this transaction.
    pub fn tag<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
    ) -> Result<Option<EntityTag>> {
        let opened = self.opened(collection)?;
        let row = self.rows.read(&opened.shape.keys.document(key))?;
        Ok(row.map(EntityTag::of))
    }

    /// Makes sure that the key is never assigned to a new document.
    fn raise_next_key<T: Document>(&mut self, opened: &Opened<T>, state: State, key: u64) {
        if key < state.next {
            return;
        }
        let next = State {
            next: key + 1,
            ..state
        };
        self.rows.put(opened.shape.keys.state(), next.encode());
    }

    /// Changes a document and its index entries. All checks run before anything is changed, except for unique
    /// indexes: they are checked at the end of the transaction, because the other document may change in it
    /// as well.
    pub(super) fn change<T: Document>(
        &mut self,
        collection: &Collection<T>,
        opened: &Arc<Opened<T>>,
        key: u64,
        stored: OldDocument<T>,
        new: Option<Arc<T>>,
    ) -> Result<()> {
        let shape = &opened.shape;
        if key > KEY_MAX {
            let message = format!("key {key} exceeds the limit of {KEY_MAX}");
            return Err(Error::limit(message));
        }
        collection.check_writable(shape)?;
        let old = stored.document().cloned();
        collection.check_triggers(&Changed {
            key,
            old: old.as_deref(),
            new: new.as_deref(),
        })?;
        let row = new.as_deref().map(|new| shape.encode(new)).transpose()?;
        let old_values = values(shape, old.as_deref())?;
        let new_values = values(shape, new.as_deref())?;
        if matches!(stored, OldDocument::Unreadable) {
            self.remove_from_all_indexes(shape, key)?;
        }
        self.load_unique_entries(shape, &old_values, &new_values)?;
        for (slot, index) in shape.indexes.iter().enumerate() {
            for value in missing(&new_values, &old_values, slot) {
                self.check_at_end(opened, slot, value, key)?;
            }
            for value in missing(&old_values, &new_values, slot) {
                self.remove_entry(index, value, key)?;
            }
            for value in missing(&new_values, &old_values, slot) {
                self.insert_entry(index, value, key);
            }
        }
        let present = new.as_ref().zip(row.as_ref());
        let present = present.filter(|_| opened.cache.is_enabled());
        let present =
            present.map(|(new, row)| Present::new(Arc::clone(new), row).with_values(new_values));
        self.put_row(shape, key, !matches!(stored, OldDocument::Nothing), row);
        self.record_change(opened, key, present)?;
        if let Some(triggers) = collection.triggers() {
            self.run_after_commit(move || {
                let changed = Changed {
                    key,
                    old: old.as_deref(),
                    new: new.as_deref(),
                };
                triggers
                    .iter()
                    .for_each(|trigger| trigger.changed(&changed));
            });
        }
        Ok(())
    }

    fn put_row<T: Document>(
        &mut self,
        shape: &Shape<T>,
        key: u64,
        existed: bool,
        row: Option<Vec<u8>>,
    ) {
        let row_key = shape.keys.document(key);
        let more = i64::from(row.is_some()) - i64::from(existed);
        match row {
            Some(row) => self.rows.put(row_key, row),
            None => self.rows.delete(row_key),
        }
        if more != 0 {
            self.rows.add(shape.keys.count(), more);
        }
        self.count_commit(shape);
    }

    /// Counts this commit, once per transaction.
    pub(crate) fn count_commit<T: Document>(&mut self, shape: &Shape<T>) {
        let sequence = shape.keys.sequence();
        if self.rows.added(&sequence) == 0 {
            self.rows.add(sequence, 1);
        }
    }

    /// Adds the entry of a document to an index.
    pub(crate) fn insert_entry<T>(&mut self, index: &BoundIndex<T>, value: &Value, key: u64) {
        let entry_value = match index.kind {
            Kind::Unique => unique_entry_value(value, key),
            Kind::Partition | Kind::Tags => shared_entry_value(value),
        };
        self.rows.put(entry_row(index, value, key), entry_value);
    }

    /// Removes the entry of a document from an index. A unique index may have another document for the value:
    /// while it is built, and within a transaction in which documents exchange values.
    fn remove_entry<T>(&mut self, index: &BoundIndex<T>, value: &Value, key: u64) -> Result<()> {
        if self.other_holder(index, value, key)?.is_none() {
            self.rows.delete(entry_row(index, value, key));
        }
        Ok(())
    }

    /// Removes a document whose values cannot be computed from all indexes.
    fn remove_from_all_indexes<T: Document>(&mut self, shape: &Shape<T>, key: u64) -> Result<()> {
        // Requires that no entry is added in the meantime.
        self.rows.read(&shape.keys.sequence())?;
        let mut found = Vec::new();
        for index in &shape.indexes {
            let range = KeyRange::prefix(&index.prefix);
            self.rows
                .scan(&range, Direction::Forward, &mut |row, stored| {
                    let parsed = entries::parse(&row[index.prefix.len()..], stored, index.kind);
                    if parsed.is_ok_and(|(_, _, named)| named == key) {
                        found.push(row.to_vec());
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
        }
        found.into_iter().for_each(|row| self.rows.delete(row));
        Ok(())
    }
}

/// The document of a key before a change.
pub(super) enum OldDocument<T> {
    Nothing,
    Document(Arc<T>),
    /// An unreadable document.
    Unreadable,
}

impl<T> OldDocument<T> {
    pub(super) fn document(&self) -> Option<&Arc<T>> {
        match self {
            Self::Document(document) => Some(document),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

fn entry_row<T>(index: &BoundIndex<T>, value: &Value, key: u64) -> Vec<u8> {
    match index.kind {
        Kind::Unique => unique_row(&index.prefix, value),
        Kind::Partition | Kind::Tags => shared_row(&index.prefix, value, key),
    }
}

/// The values of a document in each index; empty without a document.
fn values<T: Document>(shape: &Shape<T>, document: Option<&T>) -> Result<Vec<Values>> {
    document.map_or_else(|| Ok(Vec::new()), |document| shape.values(document))
}

/// The values of one document in an index that another document does not have.
pub(super) fn missing<'v>(
    of: &'v [Values],
    other: &'v [Values],
    slot: usize,
) -> impl Iterator<Item = &'v Value> {
    let has = move |value: &&Value| {
        let values = other.get(slot);
        values.is_some_and(|values| values.binary_search(value).is_ok())
    };
    of.get(slot)
        .into_iter()
        .flatten()
        .filter(move |value| !has(value))
}
