//! The collections that a server has open.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use espalier_documents::{Collection, Documents};
use serde_json::Value as Json;

use super::problem::Result;

/// Document collections, served. Each is opened once, with the policy that is stored.
pub struct DocumentsService {
    pub(super) documents: Documents,
    open: Mutex<HashMap<String, Collection<Json>>>,
}

impl DocumentsService {
    /// A service of these collections.
    pub fn new(documents: Documents) -> Self {
        Self {
            documents,
            open: Mutex::default(),
        }
    }

    /// A collection.
    pub(super) fn collection(&self, name: &str) -> Result<Collection<Json>> {
        // What is in the mutex is a map, whole at any time.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(collection) = open.get(name) {
            return Ok(collection.clone());
        }
        let collection = self.documents.open(name, None)?;
        open.insert(name.to_owned(), collection.clone());
        Ok(collection)
    }

    /// Has a collection opened again when it is asked for next.
    pub(super) fn forget(&self, name: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(name);
    }
}
