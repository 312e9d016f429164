//! The cache of a collection under its policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use espalier_keyspace::{Change, Snapshot, Version};

use super::document_state::{DocumentState, Present};
use super::memory_indexes::Resident;
use super::recent::Recent;
use crate::bound_definition::Shape;
use crate::document::Document;
use crate::layout::{Storage, counter};
use crate::ram::RamRows;
use crate::{Policy, Result};

/// The cache of a collection.
pub(crate) struct Cache<T> {
    content: CacheContent<T>,
    /// Whether it follows the commits of other processes. While it does not, reads go to the engine.
    is_following: AtomicBool,
    /// For collections in memory only: the version of the rows that was applied last.
    ram_version: AtomicU64,
}

/// The number of documents that are loaded at once into a cache that is not read yet.
const LOADED_AT_ONCE: usize = 1024;

enum CacheContent<T> {
    Disabled,
    Recent(Recent<T>),
    Resident(Resident<T>),
}

impl<T: Document> Cache<T> {
    /// An empty cache for a policy.
    pub(crate) fn new(shape: &Shape<T>) -> Self {
        let content = match shape.policy {
            Policy::Uncached => CacheContent::Disabled,
            Policy::Recent { entries, bytes } => CacheContent::Recent(Recent::new(entries, bytes)),
            Policy::Indexed | Policy::Cached | Policy::Ram => {
                CacheContent::Resident(Resident::new(shape.indexes.len()))
            }
        };
        Self {
            content,
            is_following: AtomicBool::new(false),
            ram_version: AtomicU64::new(0),
        }
    }

    /// Whether commits have to be applied to it.
    pub(crate) fn is_enabled(&self) -> bool {
        !matches!(self.content, CacheContent::Disabled)
    }

    /// The resident indexes, if there are any and they are up to date.
    pub(crate) fn resident(&self) -> Option<&Resident<T>> {
        match &self.content {
            CacheContent::Resident(resident) if self.is_following.load(Ordering::Acquire) => {
                Some(resident)
            }
            _ => None,
        }
    }

    /// The recently used documents, if they are cached and up to date.
    pub(crate) fn recent(&self) -> Option<&Recent<T>> {
        match &self.content {
            CacheContent::Recent(recent) if self.is_following.load(Ordering::Acquire) => {
                Some(recent)
            }
            _ => None,
        }
    }

    /// Sets whether it follows the commits of other processes.
    pub(super) fn set_following(&self, is_following: bool) {
        self.is_following.store(is_following, Ordering::Release);
    }

    /// Applies the changes of a commit of this process. If this fails, reads go to the engine until the cache
    /// is loaded again.
    pub(crate) fn commit(&self, shape: &Shape<T>, updates: Vec<DocumentState<T>>, before: u64) {
        match &self.content {
            CacheContent::Disabled => {}
            CacheContent::Recent(recent) => recent.commit(updates, before),
            CacheContent::Resident(resident) => {
                if let Err(error) = resident.commit(shape, updates, before) {
                    tracing::warn!(collection = shape.name, %error, "documents are not cached");
                    self.set_following(false);
                }
            }
        }
    }

    /// Whether all commits visible in a snapshot are included.
    pub(crate) fn includes(&self, shape: &Shape<T>, snapshot: &dyn Snapshot) -> Result<bool> {
        let sequence = counter(snapshot.get(&shape.keys.sequence())?.as_deref())?;
        let included = match &self.content {
            CacheContent::Disabled => return Ok(true),
            CacheContent::Recent(recent) => recent.sequence(),
            CacheContent::Resident(resident) => resident.state.read().sequence,
        };
        Ok(included == sequence && self.is_following.load(Ordering::Acquire))
    }

    /// Applies the content of a snapshot.
    pub(crate) fn catch_up(&self, shape: &Shape<T>, snapshot: &dyn Snapshot) -> Result<()> {
        let sequence = counter(snapshot.get(&shape.keys.sequence())?.as_deref())?;
        match &self.content {
            CacheContent::Disabled => {}
            CacheContent::Recent(recent) => recent.catch_up(snapshot.version(), sequence),
            CacheContent::Resident(resident) => {
                let included = resident.state.read().sequence;
                match self.is_following.load(Ordering::Acquire) {
                    true if included == sequence => {}
                    true => resident.reload(shape, snapshot, usize::MAX)?,
                    // Nobody reads it yet: it is loaded in parts, to need no memory for all changes at once.
                    false => resident.reload(shape, snapshot, LOADED_AT_ONCE)?,
                }
            }
        }
        if shape.keys.storage == Storage::Ram {
            self.set_following(true);
        }
        Ok(())
    }

    /// Applies the changes that other handles of this process made to rows in memory only.
    pub(crate) fn follow_ram(&self, shape: &Shape<T>, ram: &RamRows) -> Result<()> {
        let version = ram.version();
        if self.ram_version.load(Ordering::Acquire) == version {
            return Ok(());
        }
        let sequence = counter(ram.get(&shape.keys.sequence()).as_deref())?;
        let is_behind = match &self.content {
            CacheContent::Resident(resident) => resident.state.read().sequence != sequence,
            _ => false,
        };
        if is_behind {
            self.catch_up(shape, &ram.snapshot())?;
        }
        self.ram_version.store(version, Ordering::Release);
        Ok(())
    }

    /// Whether all changes that a watch reported for one version are already included.
    pub(super) fn includes_changes(&self, watched: &WatchedChanges<'_>, version: Version) -> bool {
        match &self.content {
            CacheContent::Disabled => true,
            CacheContent::Recent(_) => false,
            CacheContent::Resident(resident) => {
                resident.outdated(&watched.rows, version).is_empty()
            }
        }
    }

    /// Applies the changes that a watch reported for one version.
    pub(super) fn apply_watched(
        &self,
        shape: &Shape<T>,
        version: Version,
        watched: &WatchedChanges<'_>,
    ) -> Result<()> {
        match &self.content {
            CacheContent::Disabled => {}
            CacheContent::Recent(recent) => {
                let keys: Vec<_> = watched.rows.iter().map(|(key, _)| *key).collect();
                recent.invalidate(&keys, version, watched.sequence);
            }
            CacheContent::Resident(resident) => {
                // The commits of this process are already applied, and are not decoded again.
                let outdated = resident.outdated(&watched.rows, version);
                let updates = outdated
                    .into_iter()
                    .map(|(key, row)| decode_state(shape, version, key, row));
                let updates = updates.collect::<Result<_>>()?;
                resident.apply_all(shape, updates, watched.sequence)?;
                resident.drop_old_deletions(version);
            }
        }
        Ok(())
    }
}

/// Decodes the state of a document from its row.
pub(super) fn decode_state<T: Document>(
    shape: &Shape<T>,
    version: Version,
    key: u64,
    row: Option<&[u8]>,
) -> Result<DocumentState<T>> {
    let present = match row {
        Some(row) => {
            let document = Arc::new(shape.decode(key, row)?);
            Some(Present::new(document, row))
        }
        None => None,
    };
    Ok(DocumentState {
        key,
        version,
        present,
    })
}

/// The changes of documents that a watch reported for one version.
pub(super) struct WatchedChanges<'a> {
    /// Keys, and the rows of the documents that exist.
    rows: Vec<(u64, Option<&'a [u8]>)>,
    sequence: Option<u64>,
}

impl<'a> WatchedChanges<'a> {
    /// The document changes among these changes.
    pub(super) fn of<T: Document>(shape: &Shape<T>, changes: &'a [Change]) -> Result<Self> {
        let mut watched = Self {
            rows: Vec::new(),
            sequence: None,
        };
        let sequence = shape.keys.sequence();
        // If a document has several changes, the last one wins; the first state of a version is kept.
        for change in changes.iter().rev() {
            let (row, value) = match change {
                Change::Put { key, value } => (key, Some(value.as_slice())),
                Change::Delete { key } => (key, None),
                // Only dropping a collection deletes a range.
                Change::DeleteRange(_) => continue,
            };
            if *row == sequence {
                watched.sequence = watched.sequence.max(Some(counter(value)?));
            } else if let Some(key) = shape.keys.document_key(row) {
                watched.rows.push((key, value));
            }
        }
        Ok(watched)
    }
}
