//! What a policy keeps.

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

/// What is kept of a collection.
pub(crate) struct Cache<T> {
    kept: Kept<T>,
    /// Whether it follows the commits of others. While it does not, reads go to the engine.
    is_following: AtomicBool,
    /// For what is in memory only: the version of the rows that was looked at last.
    ram_version: AtomicU64,
}

enum Kept<T> {
    Nothing,
    Recent(Recent<T>),
    Resident(Resident<T>),
}

impl<T: Document> Cache<T> {
    /// An empty one for a policy.
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

    /// Whether commits have to be told.
    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self.kept, Kept::Nothing)
    }

    /// Indexes, where they are kept and follow.
    pub(crate) fn resident(&self) -> Option<&Resident<T>> {
        match &self.kept {
            Kept::Resident(resident) if self.is_following.load(Ordering::Acquire) => Some(resident),
            _ => None,
        }
    }

    /// The documents used last, where they are kept and follow.
    pub(crate) fn recent(&self) -> Option<&Recent<T>> {
        match &self.kept {
            Kept::Recent(recent) if self.is_following.load(Ordering::Acquire) => Some(recent),
            _ => None,
        }
    }

    /// Says whether it follows.
    pub(super) fn set_following(&self, is_following: bool) {
        self.is_following.store(is_following, Ordering::Release);
    }

    /// Takes over what a commit of this process changed. Where that cannot be done, reads go to
    /// the engine until it is loaded again.
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

    /// Whether all commits that a snapshot shows are included.
    pub(crate) fn includes(&self, shape: &Shape<T>, snapshot: &dyn Snapshot) -> Result<bool> {
        let sequence = counter(snapshot.get(&shape.keys.sequence())?.as_deref())?;
        let included = match &self.kept {
            Kept::Nothing => return Ok(true),
            Kept::Recent(recent) => recent.sequence(),
            Kept::Resident(resident) => resident.held.read().sequence,
        };
        Ok(included == sequence && self.is_following.load(Ordering::Acquire))
    }

    /// Takes over everything that a snapshot shows.
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

    /// Takes over what other handles of this process changed in rows that are in memory only.
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

    /// Whether nothing that a watch tells of one version is news.
    pub(super) fn knows(&self, news: &News<'_>, version: Version) -> bool {
        match &self.kept {
            Kept::Nothing => true,
            Kept::Recent(_) => false,
            Kept::Resident(resident) => resident.unknown(&news.rows, version).is_empty(),
        }
    }

    /// Takes over what a watch tells of one version.
    pub(super) fn learn(&self, shape: &Shape<T>, version: Version, news: &News<'_>) -> Result<()> {
        match &self.kept {
            Kept::Nothing => {}
            Kept::Recent(recent) => {
                let keys: Vec<_> = news.rows.iter().map(|(key, _)| *key).collect();
                recent.changed(&keys, version, news.sequence);
            }
            Kept::Resident(resident) => {
                // What this process committed itself is known, and is not decoded again.
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

/// What a row says of a document.
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

/// What a watch tells of one version.
pub(super) struct News<'a> {
    /// Keys, and the rows of the documents that are there.
    rows: Vec<(u64, Option<&'a [u8]>)>,
    sequence: Option<u64>,
}

impl<'a> News<'a> {
    /// What these changes say of documents.
    pub(super) fn of<T: Document>(shape: &Shape<T>, changes: &'a [Change]) -> Result<Self> {
        let mut news = Self {
            rows: Vec::new(),
            sequence: None,
        };
        let sequence = shape.keys.sequence();
        // Of several changes of one document the last stands, and the first fact of a version wins.
        for change in changes.iter().rev() {
            let (row, held) = match change {
                Change::Put { key, value } => (key, Some(value.as_slice())),
                Change::Delete { key } => (key, None),
                // Only a collection that is dropped loses a range.
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
