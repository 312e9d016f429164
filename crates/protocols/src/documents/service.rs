//! The open collections of a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use espalier_documents::{Collection, Documents, Info, JsonDocument, Policy};
use http::StatusCode;

use super::limits::FEEDS;
use super::problem::{Problem, Result};
use crate::stream_slots::StreamSlots;

/// Serves document collections. Each is opened once, with its stored policy.
pub struct DocumentsService {
    pub(super) documents: Documents,
    pub(super) feeds: Arc<StreamSlots>,
    open: Mutex<HashMap<String, Arc<CollectionSlot>>>,
}

/// A collection, once it is opened. Each has its own lock: opening one may take long and must not delay
/// requests for others.
type CollectionSlot = Mutex<Option<Collection<JsonDocument>>>;

/// Locks a mutex. Poisoning is ignored: the content is consistent at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DocumentsService {
    /// A service for these collections.
    pub fn new(documents: Documents) -> Self {
        Self {
            documents,
            feeds: Arc::new(StreamSlots::new(FEEDS)),
            open: Mutex::default(),
        }
    }

    /// Ends the change feeds, which otherwise run until their clients disconnect. Call it at shutdown.
    pub fn end_feeds(&self) {
        self.feeds.end();
    }

    /// A collection, opened if necessary.
    pub(super) fn collection(&self, name: &str) -> Result<Collection<JsonDocument>> {
        let slot = Arc::clone(lock(&self.open).entry(name.to_owned()).or_default());
        let mut slot = lock(&slot);
        if let Some(collection) = &*slot {
            return Ok(collection.clone());
        }
        match self.open_collection(name) {
            Ok(collection) => Ok(slot.insert(collection).clone()),
            Err(problem) => {
                self.close(name);
                Err(problem)
            }
        }
    }

    fn open_collection(&self, name: &str) -> Result<Collection<JsonDocument>> {
        let collection = self.documents.open_text(name, None)?;
        self.stored_info(name)?;
        Ok(collection)
    }

    /// The stored information about a collection. Returns a conflict if another program stored a collection
    /// with the name of an in-memory collection of this process.
    pub(super) fn stored_info(&self, name: &str) -> Result<Option<Info>> {
        let stored = self.list_infos()?;
        match stored.into_iter().find(|(info, _)| info.name == name) {
            Some((_, Some(problem))) => Err(Problem::new(StatusCode::CONFLICT, "exists", problem)),
            stored => Ok(stored.map(|(info, _)| info)),
        }
    }

    /// The information about each collection, one entry per name, and a problem if there is one: another
    /// program may have stored a collection with the name of an in-memory collection of this process. In
    /// that case the in-memory one is returned.
    pub(super) fn list_infos(&self) -> Result<Vec<(Info, Option<String>)>> {
        let mut listed: Vec<(Info, Option<String>)> = Vec::new();
        for info in self.documents.list()? {
            match listed.last_mut() {
                Some((last, problem)) if last.name == info.name => {
                    *problem = Some(format!(
                        "{:?} is an in-memory collection of this server, and another program stored a collection with this name: delete that one, or restart the server, which drops its own",
                        info.name
                    ));
                    if info.policy == Policy::Ram {
                        *last = info;
                    }
                }
                _ => listed.push((info, None)),
            }
        }
        Ok(listed)
    }

    /// Closes a collection; the next request opens it again.
    pub(super) fn close(&self, name: &str) {
        lock(&self.open).remove(name);
    }
}

#[cfg(test)]
mod tests {
    use espalier_drivers::memory::{Config, Memory};

    use super::*;

    #[test]
    fn requests_for_other_collections_do_not_wait_while_one_is_opened() {
        let documents = Documents::new(Arc::new(Memory::new(Config::default())), &[0x30]);
        for name in ["large", "small"] {
            let made = documents.configure(name, Policy::Cached, Vec::new());
            made.expect(name);
        }
        let service = DocumentsService::new(documents);
        let slot = Arc::clone(lock(&service.open).entry("large".to_owned()).or_default());
        let opening = lock(&slot);
        service.collection("small").expect("small");
        drop(opening);
        service.collection("large").expect("large");
        assert!(service.collection("none").is_err());
        assert_eq!(
            lock(&service.open).len(),
            2,
            "a missing collection is not cached"
        );
    }
}
