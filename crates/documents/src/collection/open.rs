//! Opening collections by their declaration.

use crate::{Collection, Declaration, Document, Documents, Result};

impl<T: Document> Declaration<T> {
    /// Opens the collection, or creates it. New indexes are built, while others continue to write; stored
    /// indexes that are not declared are dropped; older documents are migrated. Returns when all that is
    /// done. An interrupted build resumes where it stopped.
    pub fn open(self, documents: &Documents) -> Result<Collection<T>> {
        let collection = self.open_unbuilt(documents)?;
        collection.build()?;
        Ok(collection)
    }

    /// Like [`Self::open`], but returns before the indexes are built; [`Collection::build`] builds them, from
    /// any thread. Until then they are maintained, but cannot be queried.
    pub fn open_unbuilt(self, documents: &Documents) -> Result<Collection<T>> {
        self.check()?;
        Collection::open(documents, self)
    }
}
