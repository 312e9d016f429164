//! Operations that change documents, each in one atomic commit.

use std::sync::Arc;

use espalier_keyspace::{Prefetch, PrefetchList};

use crate::document::Document;
use crate::shared_state::Body;
use crate::value::IntoValue;
use crate::{Collection, Index, Query, Result, Selection, reconcile};

impl<T: Document> Collection<T> {
    /// Adds a document and returns its key: the largest key ever used plus one, starting at 0. Fails with
    /// [`crate::ErrorKind::Unique`] before anything is written if another document has its value of a unique
    /// index.
    pub fn insert(&self, document: impl Into<Arc<T>>) -> Result<u64> {
        let document = document.into();
        let expect =
            |expected: &mut PrefetchList| self.opened().prefetch_insertion(&document, expected);
        self.run_expecting(&expect, &mut |transaction| {
            transaction.insert(self, Arc::clone(&document))
        })
    }

    /// Adds documents in one commit: all of them or none. Much cheaper than single insertions.
    pub fn insert_many(&self, documents: impl IntoIterator<Item = T>) -> Result<Vec<u64>> {
        let documents: Vec<_> = documents.into_iter().map(Arc::new).collect();
        self.core().run(&mut |transaction| {
            let documents = documents.iter();
            documents
                .map(|document| transaction.insert(self, Arc::clone(document)))
                .collect()
        })
    }

    /// Sets the document of a key, which need not exist, and returns the old one.
    pub fn put(&self, key: u64, document: impl Into<Arc<T>>) -> Result<Option<Arc<T>>> {
        let document = document.into();
        self.change(key, Some(&document), &mut |transaction| {
            transaction.put(self, key, Arc::clone(&document))
        })
    }

    /// Adds a document with a key that must not exist.
    pub fn put_new(&self, key: u64, document: impl Into<Arc<T>>) -> Result<()> {
        let document = document.into();
        self.change(key, Some(&document), &mut |transaction| {
            transaction.put_new(self, key, Arc::clone(&document))
        })
    }

    /// Changes the document of a key with `change`, atomically. Returns the new document.
    pub fn update(&self, key: u64, change: impl Fn(&mut T)) -> Result<Arc<T>> {
        self.change(key, None, &mut |transaction| {
            transaction.update(self, key, &change)
        })
    }

    /// Replaces the document that has the same value of a unique index, or adds one; returns the key.
    pub fn upsert(&self, index: &str, document: impl Into<Arc<T>>) -> Result<u64> {
        let document = document.into();
        let expect =
            |expected: &mut PrefetchList| self.opened().prefetch_insertion(&document, expected);
        self.run_expecting(&expect, &mut |transaction| {
            transaction.upsert(self, index, Arc::clone(&document))
        })
    }

    /// Removes the documents with these keys in one commit, also unreadable ones; returns the keys that did
    /// not exist.
    pub fn remove_many(&self, keys: &[u64]) -> Result<Vec<u64>> {
        self.core().run(&mut |transaction| {
            let mut absent = Vec::new();
            for &key in keys {
                if !transaction.remove(self, key)? {
                    absent.push(key);
                }
            }
            Ok(absent)
        })
    }

    /// Removes the document with a key and returns it.
    pub fn delete(&self, key: u64) -> Result<Option<Arc<T>>> {
        self.change(key, None, &mut |transaction| transaction.delete(self, key))
    }

    fn run_expecting<R>(&self, expect: Prefetch<'_>, body: Body<'_, R>) -> Result<R> {
        let storage = reconcile::storage_of(self.policy());
        self.core().run_expecting(storage, expect, body)
    }

    /// Changes the document with a key; `new` is the new document, if any.
    fn change<R>(&self, key: u64, new: Option<&T>, body: Body<'_, R>) -> Result<R> {
        let expect =
            |expected: &mut PrefetchList| self.opened().prefetch_change(key, new, expected);
        self.run_expecting(&expect, body)
    }

    /// Removes the documents for which `is_match` returns true, in one commit; returns their number.
    pub fn delete_where(&self, is_match: impl Fn(u64, &T) -> bool) -> Result<usize> {
        self.core().run(&mut |transaction| {
            let mut deleted = 0;
            for (key, document) in transaction.list(self, Selection::all())? {
                if is_match(key, &document) {
                    transaction.delete(self, key)?;
                    deleted += 1;
                }
            }
            Ok(deleted)
        })
    }

    /// Removes the document with the largest key and returns it.
    pub fn pop(&self) -> Result<Option<(u64, Arc<T>)>> {
        self.core().run(&mut |transaction| {
            let last = transaction.list(self, Selection::all().reversed().limit(1))?;
            if let Some((key, _)) = last.first() {
                transaction.delete(self, *key)?;
            }
            Ok(last.into_iter().next())
        })
    }
}

impl<T: Document> Index<T> {
    /// Changes the document that has this value of a unique index.
    pub fn update(&self, value: impl IntoValue, change: impl Fn(&mut T)) -> Result<Arc<T>> {
        let value = self.checked(value)?;
        let expect = |expected: &mut PrefetchList| {
            if let Some(value) = &value {
                self.opened.prefetch_value(self.bound(), value, expected);
            }
        };
        self.collection.run_expecting(&expect, &mut |transaction| {
            transaction.update_by(&self.collection, self.name(), value.as_ref(), &change)
        })
    }

    /// Changes the documents that have this value, in one commit: all of them or none. Returns their keys.
    pub fn update_all(&self, value: impl IntoValue, change: impl Fn(&mut T)) -> Result<Vec<u64>> {
        let (collection, query) = (&self.collection, Query::value(self.checked(value)?));
        collection.core().run(&mut |transaction| {
            let mut keys = transaction.keys(collection, self.name(), query.clone())?;
            // In an index of a program, a document may have several values that begin with this one.
            keys.sort_unstable();
            keys.dedup();
            for &key in &keys {
                transaction.update(collection, key, &change)?;
            }
            Ok(keys)
        })
    }

    /// Replaces the document that has the same value as this one, or adds it; returns the key.
    pub fn update_or_create(&self, document: impl Into<Arc<T>>) -> Result<u64> {
        self.collection.upsert(self.name(), document)
    }

    /// Removes the documents that have this value, in one commit; returns their number.
    pub fn delete(&self, value: impl IntoValue) -> Result<usize> {
        self.delete_where(value, |_, _| true)
    }

    /// Removes the documents with this value for which `is_match` returns true; returns their number.
    pub fn delete_where(
        &self,
        value: impl IntoValue,
        is_match: impl Fn(u64, &T) -> bool,
    ) -> Result<usize> {
        let (collection, query) = (&self.collection, Query::value(self.checked(value)?));
        collection.core().run(&mut |transaction| {
            let mut deleted = 0;
            for (key, document) in transaction.find(collection, self.name(), query.clone())? {
                if is_match(key, &document) && transaction.delete(collection, key)?.is_some() {
                    deleted += 1;
                }
            }
            Ok(deleted)
        })
    }
}
