//! Changing documents and their entries in indexes.

use std::sync::Arc;

use super::Transaction;
use crate::cache::Present;
use crate::collection::Opened;
use crate::definition::Kind;
use crate::document::{Document, Tag};
use crate::error::Clash;
use crate::extract::Values;
use crate::layout::{State, shared_held, shared_row, take_key, unique_held, unique_row};
use crate::limits::KEY_MAX;
use crate::shape::{BoundIndex, Shape};
use crate::value::IntoValue;
use crate::{Changed, Collection, Error, ErrorKind, Result, Value};

impl Transaction<'_> {
    /// Adds a document, and returns its key: one more than the largest that was ever used, from 0.
    pub fn insert<T: Document>(
        &mut self,
        collection: &Collection<T>,
        document: impl Into<Arc<T>>,
    ) -> Result<u64> {
        let (opened, state) = self.opened_to_insert(collection)?;
        let key = state.next;
        self.change(collection, &opened, key, None, Some(document.into()))?;
        self.raise(&opened, state, key);
        Ok(key)
    }

    /// Sets the document of a key, whether there was one or not, and returns the older one.
    pub fn put<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
        document: impl Into<Arc<T>>,
    ) -> Result<Option<Arc<T>>> {
        let opened = self.opened(collection)?;
        let old = self.document(&opened, key)?;
        self.change(collection, &opened, key, old.clone(), Some(document.into()))?;
        if old.is_none() {
            let state = self.state(&opened)?;
            self.raise(&opened, state, key);
        }
        Ok(old)
    }

    /// Adds a document of a key that has none.
    pub fn put_new<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
        document: impl Into<Arc<T>>,
    ) -> Result<()> {
        let opened = self.opened(collection)?;
        if self.document(&opened, key)?.is_some() {
            let message = format!(
                "there is a document {key} in {:?} already",
                collection.name()
            );
            return Err(Error::new(ErrorKind::Exists, message));
        }
        self.put(collection, key, document).map(drop)
    }

    /// Changes the document of a key as `change` does.
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
        self.change(collection, &opened, key, Some(old), Some(Arc::clone(&new)))?;
        Ok(new)
    }

    /// Removes the document of a key, and returns it.
    pub fn delete<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
    ) -> Result<Option<Arc<T>>> {
        let opened = self.opened(collection)?;
        let Some(old) = self.document(&opened, key)? else {
            return Ok(None);
        };
        self.change(collection, &opened, key, Some(Arc::clone(&old)), None)?;
        Ok(Some(old))
    }

    /// Replaces the document that has the same value of a unique index, or adds one; returns the
    /// key.
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
        let held = match value {
            Some(value) => self.key_by(collection, index, value)?,
            None => None,
        };
        match held {
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

    /// Requires that the document of a key is in a certain state.
    pub fn require<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
        tag: Option<Tag>,
    ) -> Result<()> {
        let opened = self.opened(collection)?;
        let row = self.rows.read(&opened.shape.keys.document(key))?;
        if row.map(Tag::of) == tag {
            return Ok(());
        }
        let message = format!(
            "document {key} of {:?} was changed meanwhile",
            collection.name()
        );
        Err(Error::new(ErrorKind::Changed, message))
    }

    /// The state of a document as this transaction leaves it.
    pub fn tag<T: Document>(
        &mut self,
        collection: &Collection<T>,
        key: u64,
    ) -> Result<Option<Tag>> {
        let opened = self.opened(collection)?;
        let row = self.rows.read(&opened.shape.keys.document(key))?;
        Ok(row.map(Tag::of))
    }

    /// Sees to it that the key is never given again.
    fn raise<T: Document>(&mut self, opened: &Opened<T>, state: State, key: u64) {
        if key < state.next {
            return;
        }
        let next = State {
            next: key + 1,
            ..state
        };
        self.rows.put(opened.shape.keys.state(), next.encode());
    }

    /// Changes a document and its entries. All that can refuse it comes before anything is changed.
    pub(super) fn change<T: Document>(
        &mut self,
        collection: &Collection<T>,
        opened: &Arc<Opened<T>>,
        key: u64,
        old: Option<Arc<T>>,
        new: Option<Arc<T>>,
    ) -> Result<()> {
        let shape = &opened.shape;
        if key > KEY_MAX {
            let message = format!("key {key} is over the limit of {KEY_MAX}");
            return Err(Error::limit(message));
        }
        collection.check_writable(shape)?;
        collection.check_triggers(&Changed {
            key,
            old: old.as_deref(),
            new: new.as_deref(),
        })?;
        let row = new.as_deref().map(|new| shape.encode(new)).transpose()?;
        let were = values(shape, old.as_deref())?;
        let are = values(shape, new.as_deref())?;
        for (slot, index) in shape.indexes.iter().enumerate() {
            for value in missing(&are, &were, slot) {
                self.check_free(index, value, key)?;
            }
        }
        for (slot, index) in shape.indexes.iter().enumerate() {
            for value in missing(&were, &are, slot) {
                self.take_out(index, value, key);
            }
            for value in missing(&are, &were, slot) {
                self.enter(index, value, key);
            }
        }
        let present = new.as_ref().zip(row.as_ref());
        let present = present.filter(|_| opened.cache.is_kept());
        let present = present.map(|(new, row)| Present::new(Arc::clone(new), row).with_values(are));
        self.put_row(shape, key, old.is_some(), row);
        self.tell(opened, key, present)?;
        if let Some(triggers) = collection.triggers() {
            self.call_after(move || {
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
        was: bool,
        row: Option<Vec<u8>>,
    ) {
        let place = shape.keys.document(key);
        let more = i64::from(row.is_some()) - i64::from(was);
        match row {
            Some(row) => self.rows.put(place, row),
            None => self.rows.delete(place),
        }
        if more != 0 {
            self.rows.add(shape.keys.count(), more);
        }
        self.count_commit(shape);
    }

    /// Counts this commit, once.
    pub(crate) fn count_commit<T: Document>(&mut self, shape: &Shape<T>) {
        let sequence = shape.keys.sequence();
        if self.rows.added(&sequence) == 0 {
            self.rows.add(sequence, 1);
        }
    }

    /// Fails where another document has the value of a unique index.
    pub(crate) fn check_free<T>(
        &mut self,
        index: &BoundIndex<T>,
        value: &Value,
        key: u64,
    ) -> Result<()> {
        if index.kind != Kind::Unique {
            return Ok(());
        }
        let Some(held) = self.rows.read(&unique_row(&index.prefix, value))? else {
            return Ok(());
        };
        let other = take_key(held)?;
        if other == key {
            return Ok(());
        }
        Err(Error::unique(Clash {
            index: index.name.clone(),
            value: value.to_string(),
            key: other,
        }))
    }

    /// Enters a document in an index.
    pub(crate) fn enter<T>(&mut self, index: &BoundIndex<T>, value: &Value, key: u64) {
        let held = match index.kind {
            Kind::Unique => unique_held(value, key),
            Kind::Partition | Kind::Tags => shared_held(value),
        };
        self.rows.put(entry_row(index, value, key), held);
    }

    /// Takes a document out of an index.
    fn take_out<T>(&mut self, index: &BoundIndex<T>, value: &Value, key: u64) {
        self.rows.delete(entry_row(index, value, key));
    }
}

fn entry_row<T>(index: &BoundIndex<T>, value: &Value, key: u64) -> Vec<u8> {
    match index.kind {
        Kind::Unique => unique_row(&index.prefix, value),
        Kind::Partition | Kind::Tags => shared_row(&index.prefix, value, key),
    }
}

/// The values of a document in each index; none where there is no document.
fn values<T: Document>(shape: &Shape<T>, document: Option<&T>) -> Result<Vec<Values>> {
    document.map_or_else(|| Ok(Vec::new()), |document| shape.values(document))
}

/// Those of one document's values in an index that another document does not have.
fn missing<'v>(
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
