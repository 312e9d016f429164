//! An in-memory cache of the changes of candidates.

use std::sync::Arc;

use espalier_keyspace::Snapshot;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::header::Header;
use super::merge::Merged;
use super::rows::Rows;
use crate::error::Result;
use crate::overlay::Changes;

/// Maximum number of cached candidates; beyond that, the cache is cleared.
const CANDIDATES_MAX: usize = 64;

/// The most recently used candidates of a store.
#[derive(Default)]
pub(crate) struct CandidateCache {
    by_prefix: Mutex<FxHashMap<Vec<u8>, CachedCandidate>>,
}

struct CachedCandidate {
    header: Vec<u8>,
    changes: Arc<Changes>,
    /// The changes merged on a later version of running.
    merged: Option<(u64, Arc<Merged>)>,
}

/// A candidate as stored in a snapshot.
pub(super) struct StoredCandidate {
    pub rows: Rows,
    pub header: Header,
    /// The stored header; none if the candidate was never edited.
    pub header_bytes: Option<Vec<u8>>,
    pub changes: Arc<Changes>,
}

impl CandidateCache {
    /// Reads the candidate in a snapshot, from the cache if it is unchanged.
    pub(super) fn read(&self, snapshot: &dyn Snapshot, rows: Rows) -> Result<StoredCandidate> {
        let header_bytes = snapshot
            .get(&rows.header())?
            .map(std::borrow::Cow::into_owned);
        let Some(bytes) = header_bytes else {
            return Ok(StoredCandidate {
                rows,
                header: Header::default(),
                header_bytes,
                changes: Arc::default(),
            });
        };
        let header = Header::decode(&bytes)?;
        let cached = self.cached_changes(&rows, &bytes);
        let changes = match cached {
            Some(changes) => changes,
            None if header.sessions.is_empty() => Arc::default(),
            None => {
                let changes = Arc::new(rows.read(snapshot)?);
                self.insert(&rows, bytes.clone(), &changes);
                changes
            }
        };
        Ok(StoredCandidate {
            rows,
            header,
            header_bytes: Some(bytes),
            changes,
        })
    }

    fn cached_changes(&self, rows: &Rows, header: &[u8]) -> Option<Arc<Changes>> {
        let cached = self.by_prefix.lock();
        let candidate = cached.get(rows.prefix())?;
        (candidate.header == header).then(|| Arc::clone(&candidate.changes))
    }

    /// Caches the changes of a header.
    pub(super) fn insert(&self, rows: &Rows, header: Vec<u8>, changes: &Arc<Changes>) {
        let mut cached = self.by_prefix.lock();
        if cached.len() >= CANDIDATES_MAX {
            cached.clear();
        }
        let candidate = CachedCandidate {
            header,
            changes: Arc::clone(changes),
            merged: None,
        };
        cached.insert(rows.prefix().to_vec(), candidate);
    }

    /// Removes a candidate, so that its changes can be modified in place.
    pub(super) fn remove(&self, rows: &Rows) {
        self.by_prefix.lock().remove(rows.prefix());
    }

    /// The cached changes merged on a version of running.
    pub(super) fn merged(&self, stored: &StoredCandidate, running: u64) -> Option<Arc<Merged>> {
        let cached = self.by_prefix.lock();
        let candidate = cached.get(stored.rows.prefix())?;
        let (version, merged) = candidate.merged.as_ref()?;
        let is_it = *version == running && Some(&candidate.header) == stored.header_bytes.as_ref();
        is_it.then(|| Arc::clone(merged))
    }

    /// Caches the changes merged on a version of running.
    pub(super) fn insert_merged(
        &self,
        stored: &StoredCandidate,
        running: u64,
        merged: &Arc<Merged>,
    ) {
        let mut cached = self.by_prefix.lock();
        let candidate = cached.get_mut(stored.rows.prefix());
        let same =
            candidate.filter(|candidate| Some(&candidate.header) == stored.header_bytes.as_ref());
        if let Some(candidate) = same {
            candidate.merged = Some((running, Arc::clone(merged)));
        }
    }
}
