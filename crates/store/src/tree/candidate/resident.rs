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
const RESIDENTS_MAX: usize = 64;

/// The most recently used candidates of a store.
#[derive(Default)]
pub(crate) struct Residents {
    by_prefix: Mutex<FxHashMap<Vec<u8>, Resident>>,
}

struct Resident {
    header: Vec<u8>,
    changes: Arc<Changes>,
    /// The changes merged on a later version of running.
    merged: Option<(u64, Arc<Merged>)>,
}

/// A candidate as stored in a snapshot.
pub(super) struct Stored {
    pub rows: Rows,
    pub header: Header,
    /// The stored header; none if the candidate was never edited.
    pub header_bytes: Option<Vec<u8>>,
    pub changes: Arc<Changes>,
}

impl Residents {
    /// Reads the candidate in a snapshot, from the cache if it is unchanged.
    pub(super) fn read(&self, snapshot: &dyn Snapshot, rows: Rows) -> Result<Stored> {
        let header_bytes = snapshot
            .get(&rows.header())?
            .map(std::borrow::Cow::into_owned);
        let Some(bytes) = header_bytes else {
            return Ok(Stored {
                rows,
                header: Header::default(),
                header_bytes,
                changes: Arc::default(),
            });
        };
        let header = Header::decode(&bytes)?;
        let known = self.known(&rows, &bytes);
        let changes = match known {
            Some(known) => known,
            None if header.sessions.is_empty() => Arc::default(),
            None => {
                let changes = Arc::new(rows.read(snapshot)?);
                self.keep(&rows, bytes.clone(), &changes);
                changes
            }
        };
        Ok(Stored {
            rows,
            header,
            header_bytes: Some(bytes),
            changes,
        })
    }

    fn known(&self, rows: &Rows, header: &[u8]) -> Option<Arc<Changes>> {
        let residents = self.by_prefix.lock();
        let resident = residents.get(rows.prefix())?;
        (resident.header == header).then(|| Arc::clone(&resident.changes))
    }

    /// Caches the changes of a header.
    pub(super) fn keep(&self, rows: &Rows, header: Vec<u8>, changes: &Arc<Changes>) {
        let mut residents = self.by_prefix.lock();
        if residents.len() >= RESIDENTS_MAX {
            residents.clear();
        }
        let resident = Resident {
            header,
            changes: Arc::clone(changes),
            merged: None,
        };
        residents.insert(rows.prefix().to_vec(), resident);
    }

    /// Removes a candidate, so that its changes can be modified in place.
    pub(super) fn forget(&self, rows: &Rows) {
        self.by_prefix.lock().remove(rows.prefix());
    }

    /// The cached changes merged on a version of running.
    pub(super) fn merged(&self, stored: &Stored, running: u64) -> Option<Arc<Merged>> {
        let residents = self.by_prefix.lock();
        let resident = residents.get(stored.rows.prefix())?;
        let (version, merged) = resident.merged.as_ref()?;
        let is_it = *version == running && Some(&resident.header) == stored.header_bytes.as_ref();
        is_it.then(|| Arc::clone(merged))
    }

    /// Caches the changes merged on a version of running.
    pub(super) fn keep_merged(&self, stored: &Stored, running: u64, merged: &Arc<Merged>) {
        let mut residents = self.by_prefix.lock();
        let resident = residents.get_mut(stored.rows.prefix());
        let same =
            resident.filter(|resident| Some(&resident.header) == stored.header_bytes.as_ref());
        if let Some(resident) = same {
            resident.merged = Some((running, Arc::clone(merged)));
        }
    }
}
