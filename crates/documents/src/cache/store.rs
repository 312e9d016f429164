//! The cache of a collection under its policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use espalier_keyspace::{Change, Snapshot, Version};

use super::fact::{Fact, Present};
use super::recent::Recent;
use super::resident::Resident;
use crate::document::Document;
use crate::layout::{Home, counter};
use crate::ram::RamRows;
use crate::shape::Shape;
use crate::{Policy, Result};

/// The cache of a collection.
pub(crate) struct Cache<T> {
    kept: Kept<T>,
    /// Whether it follows the commits of other processes. While it does not, reads go to the engine.
    is_following: AtomicBool,
    /// For collections in memory only: the version of the rows that was applied last.
    ram_version: AtomicU64,
}

enum Kept<T> {
    Nothing,
    Recent(Recent<T>),
    Resident(Resident<T>),
}

impl<T: Document> Cache<T> {
    /// An empty cache for a policy.
    pub(crate) fn new(shape: &Shape<T>) -> Self {
        let kept = match shape.policy {
            Policy::Uncached => Kept::Nothing,
            Policy::Recent { entries, bytes } => Kept::Recent(Recent::new(entries, bytes)),
            Policy::Indexed | Policy::Cached | Policy::Ram => {
                Kept::Resident(Resident::new(shape.indexes.len()))
            }
        };
        Self {
            kept,
            is_following: AtomicBool::new(false),
            ram_version: AtomicU64::new(0),
        }
    }

    /// Whether commits have to be applied to it.
    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self.kept, Kept::Nothing)
    }

    /// The resident indexes, if there are any and they are up to date.
    pub(crate) fn resident(&self) -> Option<&Resident<T>> {
        match &self.kept {
            Kept::Resident(resident) if self.is_following.load(Ordering::Acquire) => Some(resident),
            _ => None,
        }
    }

    /// The recently used documents, if they are cached and up to date.
    pub(crate) fn recent(&self) -> Option<&Recent<T>> {
        match &self.kept {
            Kept::Recent(recent) if self.is_following.load(Ordering::Acquire) => Some(recent),
            _ => None,
        }
    }

    /// Sets whether it follows the commits of other processes.
    pub(super) fn set_following(&self, is_following: bool) {
        self.is_following.store(is_following, Ordering::Release);
    }

    /// Applies the changes of a commit of this process. If this fails, reads go to the engine until the cache
    /// is loaded again.
    pub(crate) fn commit(&self, shape: &Shape<T>, facts: Vec<Fact<T>>, before: u64) {
        match &self.kept {
            Kept::Nothing => {}
            Kept::Recent(recent) => recent.commit(facts, before),
            Kept::Resident(resident) => {
                if let Err(error) = resident.commit(shape, facts, before) {
                    tracing::warn!(collection = shape.name, %error, "documents are not cached");
                    self.set_following(false);
                }
            }
        }
    }

    /// Whether all commits visible in a snapshot are included.
    pub(crate) fn includes(&self, shape: &Shape<T>, snapshot: &dyn Snapshot) -> Result<bool> {
        let sequence = counter(snapshot.get(&shape.keys.sequence())?.as_deref())?;
        let included = match &self.kept {
            Kept::Nothing => return Ok(true),
            Kept::Recent(recent) => recent.sequence(),
            Kept::Resident(resident) => resident.held.read().sequence,
        };
        Ok(included == sequence && self.is_following.load(Ordering::Acquire))
    }

    /// Applies the content of a snapshot.
    pub(crate) fn catch_up(&self, shape: &Shape<T>, snapshot: &dyn Snapshot) -> Result<()> {
        let sequence = counter(snapshot.get(&shape.keys.sequence())?.as_deref())?;
        match &self.kept {
            Kept::Nothing => {}
            Kept::Recent(recent) => recent.catch_up(snapshot.version(), sequence),
            Kept::Resident(resident) => {
                let included = resident.held.read().sequence;
                if included != sequence || !self.is_following.load(Ordering::Acquire) {
                    resident.reload(shape, snapshot)?;
                }
            }
        }
        if shape.keys.home == Home::Ram {
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
        let is_behind = match &self.kept {
            Kept::Resident(resident) => resident.held.read().sequence != sequence,
            _ => false,
        };
        if is_behind {
            self.catch_up(shape, &ram.snapshot())?;
        }
        self.ram_version.store(version, Ordering::Release);
        Ok(())
    }

    /// Whether all changes that a watch reported for one version are already included.
    pub(super) fn knows(&self, news: &News<'_>, version: Version) -> bool {
        match &self.kept {
            Kept::Nothing => true,
            Kept::Recent(_) => false,
            Kept::Resident(resident) => resident.unknown(&news.rows, version).is_empty(),
        }
    }

    /// Applies the changes that a watch reported for one version.
    pub(super) fn learn(&self, shape: &Shape<T>, version: Version, news: &News<'_>) -> Result<()> {
        match &self.kept {
            Kept::Nothing => {}
            Kept::Recent(recent) => {
                let keys: Vec<_> = news.rows.iter().map(|(key, _)| *key).collect();
                recent.changed(&keys, version, news.sequence);
            }
            Kept::Resident(resident) => {
                // The commits of this process are already applied, and are not decoded again.
                let unknown = resident.unknown(&news.rows, version);
                let facts = unknown
                    .into_iter()
                    .map(|(key, row)| fact(shape, version, key, row));
                let facts = facts.collect::<Result<_>>()?;
                resident.learn(shape, facts, news.sequence)?;
                resident.forget_deleted(version);
            }
        }
        Ok(())
    }
}

/// Decodes the state of a document from its row.
pub(super) fn fact<T: Document>(
    shape: &Shape<T>,
    version: Version,
    key: u64,
    row: Option<&[u8]>,
) -> Result<Fact<T>> {
    let present = match row {
        Some(row) => {
            let document = Arc::new(shape.decode(key, row)?);
            Some(Present::new(document, row))
        }
        None => None,
    };
    Ok(Fact {
        key,
        version,
        present,
    })
}

/// The changes of documents that a watch reported for one version.
pub(super) struct News<'a> {
    /// Keys, and the rows of the documents that exist.
    rows: Vec<(u64, Option<&'a [u8]>)>,
    sequence: Option<u64>,
}

impl<'a> News<'a> {
    /// The document changes among these changes.
    pub(super) fn of<T: Document>(shape: &Shape<T>, changes: &'a [Change]) -> Result<Self> {
        let mut news = Self {
            rows: Vec::new(),
            sequence: None,
        };
        let sequence = shape.keys.sequence();
        // If a document has several changes, the last one wins; the first state of a version is kept.
        for change in changes.iter().rev() {
            let (row, held) = match change {
                Change::Put { key, value } => (key, Some(value.as_slice())),
                Change::Delete { key } => (key, None),
                // Only dropping a collection deletes a range.
                Change::DeleteRange(_) => continue,
            };
            if *row == sequence {
                news.sequence = news.sequence.max(Some(counter(held)?));
            } else if let Some(key) = shape.keys.document_key(row) {
                news.rows.push((key, held));
            }
        }
        Ok(news)
    }
}
