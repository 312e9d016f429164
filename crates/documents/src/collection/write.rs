//! Changing documents, each call in one atomic commit.

use std::sync::Arc;

use crate::document::Document;
use crate::{Collection, Result, Selection};

impl<T: Document> Collection<T> {
    /// Adds a document, and returns its key: one more than the largest that was ever used, from 0.
    /// Fails with [`crate::ErrorKind::Unique`] before anything is written where a unique index has
    /// its value already.
    pub fn insert(&self, document: impl Into<Arc<T>>) -> Result<u64> {
        let document = document.into();
        self.core()
            .run(&mut |transaction| transaction.insert(self, Arc::clone(&document)))
    }

    /// Adds documents in one commit: all of them or none. Much cheaper than one by one.
    pub fn insert_many(&self, documents: impl IntoIterator<Item = T>) -> Result<Vec<u64>> {
        let documents: Vec<_> = documents.into_iter().map(Arc::new).collect();
        self.core().run(&mut |transaction| {
            let documents = documents.iter();
            documents
                .map(|document| transaction.insert(self, Arc::clone(document)))
                .collect()
        })
    }

    /// Sets the document of a key, whether there was one or not, and returns the older one.
    pub fn put(&self, key: u64, document: impl Into<Arc<T>>) -> Result<Option<Arc<T>>> {
        let document = document.into();
        self.core()
            .run(&mut |transaction| transaction.put(self, key, Arc::clone(&document)))
    }

    /// Adds a document of a key that has none.
    pub fn put_new(&self, key: u64, document: impl Into<Arc<T>>) -> Result<()> {
        let document = document.into();
        self.core()
            .run(&mut |transaction| transaction.put_new(self, key, Arc::clone(&document)))
    }

    /// Changes the document of a key as `change` does: nobody else can change it in between.
    /// Returns what it is now.
    pub fn update(&self, key: u64, change: impl Fn(&mut T)) -> Result<Arc<T>> {
        self.core()
            .run(&mut |transaction| transaction.update(self, key, &change))
    }

    /// Replaces the document that has the same value of a unique index, or adds one; returns the
    /// key.
    pub fn upsert(&self, index: &str, document: impl Into<Arc<T>>) -> Result<u64> {
        let document = document.into();
        self.core()
            .run(&mut |transaction| transaction.upsert(self, index, Arc::clone(&document)))
    }

    /// Removes the document of a key, and returns it.
    pub fn delete(&self, key: u64) -> Result<Option<Arc<T>>> {
        self.core()
            .run(&mut |transaction| transaction.delete(self, key))
    }

    /// Removes the documents that `is_meant` says, and returns how many: in one commit.
    pub fn delete_where(&self, is_meant: impl Fn(u64, &T) -> bool) -> Result<usize> {
        self.core().run(&mut |transaction| {
            let mut deleted = 0;
            for (key, document) in transaction.list(self, Selection::all())? {
                if is_meant(key, &document) {
                    transaction.delete(self, key)?;
                    deleted += 1;
                }
            }
            Ok(deleted)
        })
    }

    /// Removes the document with the largest key, and returns it.
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
