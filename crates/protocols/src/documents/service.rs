//! The collections that a server has open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use espalier_documents::{Collection, Documents, Info, Policy};
use http::StatusCode;
use serde_json::Value as Json;

use super::feed::Feeds;
use super::problem::{Problem, Result};

/// Document collections, served. Each is opened once, with the policy that is stored.
pub struct DocumentsService {
    pub(super) documents: Documents,
    pub(super) feeds: Arc<Feeds>,
    open: Mutex<HashMap<String, Arc<Place>>>,
}

/// A collection, once it is opened. Opening one may take long; who asks for another does not wait.
type Place = Mutex<Option<Collection<Json>>>;

/// What is in the mutexes is whole at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DocumentsService {
    /// A service of these collections.
    pub fn new(documents: Documents) -> Self {
        Self {
            documents,
            feeds: Arc::default(),
            open: Mutex::default(),
        }
    }

    /// Ends the feeds of changes, which else would be under way until their clients leave. To be called
    /// when the server is to end.
    pub fn end_feeds(&self) {
        self.feeds.end();
    }

    /// A collection.
    pub(super) fn collection(&self, name: &str) -> Result<Collection<Json>> {
        let place = Arc::clone(lock(&self.open).entry(name.to_owned()).or_default());
        let mut place = lock(&place);
        if let Some(collection) = &*place {
            return Ok(collection.clone());
        }
        match self.opened(name) {
            Ok(collection) => Ok(place.insert(collection).clone()),
            Err(problem) => {
                self.forget(name);
                Err(problem)
            }
        }
    }

    fn opened(&self, name: &str) -> Result<Collection<Json>> {
        let collection = self.documents.open(name, None)?;
        self.known(name)?;
        Ok(collection)
    }

    /// What is stored about a collection. It is refused where another program stored a collection
    /// of the name of one in the memory of this process.
    pub(super) fn known(&self, name: &str) -> Result<Option<Info>> {
        let known = self.listed()?;
        match known.into_iter().find(|(info, _)| info.name == name) {
            Some((_, Some(problem))) => Err(Problem::new(StatusCode::CONFLICT, "exists", problem)),
            known => Ok(known.map(|(info, _)| info)),
        }
    }

    /// What is stored about each collection, once for each name, and what is wrong with it: another
    /// program may have stored a collection of the name of one in the memory of this process. Then
    /// this is the latter.
    pub(super) fn listed(&self) -> Result<Vec<(Info, Option<String>)>> {
        let mut listed: Vec<(Info, Option<String>)> = Vec::new();
        for info in self.documents.list()? {
            match listed.last_mut() {
                Some((last, problem)) if last.name == info.name => {
                    *problem = Some(format!(
                        "{:?} is a collection in the memory of this server, and another program stored one of this name: remove that one, or start the server again, which forgets its own",
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

    /// Has a collection opened again when it is asked for next.
    pub(super) fn forget(&self, name: &str) {
        lock(&self.open).remove(name);
    }
}

#[cfg(test)]
mod tests {
    use espalier_drivers::memory::{Config, Memory};

    use super::*;

    #[test]
    fn who_asks_for_another_collection_does_not_wait_for_one_that_is_being_opened() {
        let documents = Documents::new(Arc::new(Memory::new(Config::default())), &[0x30]);
        for name in ["large", "small"] {
            let made = documents.configure(name, Policy::Cached, Vec::new());
            made.expect(name);
        }
        let service = DocumentsService::new(documents);
        let place = Arc::clone(lock(&service.open).entry("large".to_owned()).or_default());
        let opening = lock(&place);
        service.collection("small").expect("small");
        drop(opening);
        service.collection("large").expect("large");
        assert!(service.collection("none").is_err());
        assert_eq!(
            lock(&service.open).len(),
            2,
            "what there is not is not kept"
        );
    }
}
