//! An open directory: LMDB, the journal over it, and the state shared by the threads of this process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use espalier_keyspace::{Result, Version};
use heed::{RoTxn, WithoutTls};
use parking_lot::Mutex;

use super::environment::{GateGuard, Lmdb};
use super::journal::{Journal, Layers, Merger};
use crate::embedded::{Config, Durability};
use crate::files::Access;
use crate::group_commit_queue::CommitQueue;
use crate::recent_commits::RecentCommits;

/// An open directory, shared by all its users in this process.
pub(in crate::embedded) struct Engine {
    pub(in crate::embedded) config: Config,
    pub(in crate::embedded) base: Arc<Lmdb>,
    pub(in crate::embedded) journal: Arc<Journal>,
    pub(in crate::embedded) merger: Merger,
    /// Waiting commits.
    pub(in crate::embedded) queue: CommitQueue,
    /// The recent commits, for watchers.
    pub(in crate::embedded) recent: RecentCommits,
    /// Locked from a commit until it is in `recent`, so that a watcher that polls the newest version does
    /// not mistake it for a commit of another process; also while watchers are notified of those.
    pub(in crate::embedded) publishing: Mutex<()>,
    /// The number of deleted keys, and of removed ranges, that scans have passed.
    pub(in crate::embedded) tombstones_passed: AtomicU64,
}

/// A committed state. Fields are dropped in order: the transaction ends before the gate is left.
pub(in crate::embedded) struct Reading {
    pub(in crate::embedded) txn: RoTxn<'static, WithoutTls>,
    pub(in crate::embedded) gate_guard: GateGuard,
    pub(in crate::embedded) layers: Layers,
    pub(in crate::embedded) version: Version,
}

impl Engine {
    /// Creates the engine over an open LMDB.
    pub(super) fn new(config: Config, base: Arc<Lmdb>) -> Result<Self> {
        let journal = Arc::new(Journal::open(&base, config.journal_bytes as u64)?);
        let newest = journal.view()?.version;
        // Watchers start after `newest`, so commits of other processes during opening are not reported.
        drop(journal.take_foreign_commits());
        let merger = match base.access {
            Access::Write => Merger::start(&journal),
            Access::Read => Merger::none(),
        };
        let engine = Self {
            config,
            merger,
            base,
            journal,
            queue: CommitQueue::default(),
            recent: RecentCommits::after(newest),
            publishing: Mutex::new(()),
            tombstones_passed: AtomicU64::new(0),
        };
        engine.release_space_of_killed();
        Ok(engine)
    }

    /// Releases the disk space of a process that was killed during a write. Opening does not wait: if
    /// another process is committing, that one releases the space if it fails.
    fn release_space_of_killed(&self) {
        if self.base.access == Access::Read || !self.base.has_unused_tail().unwrap_or(false) {
            return;
        }
        match self.journal.try_commit_lock() {
            Ok(_commit_lock) => self.base.release_unused_space(),
            Err(error) => tracing::debug!(%error, "another process may be writing"),
        }
    }

    /// The directory, with links resolved.
    pub(in crate::embedded) fn dir(&self) -> &Path {
        &self.base.dir
    }

    /// Begins to read the newest state.
    pub(in crate::embedded) fn begin_read(&self) -> Result<Reading> {
        let begun = self.journal.read(|| {
            let (gate_guard, txn) = self.base.begin_read()?;
            Ok((txn.id() as u64, (gate_guard, txn)))
        });
        let ((gate_guard, txn), layers, version) = begun?;
        Ok(Reading {
            txn,
            gate_guard,
            layers,
            version,
        })
    }

    /// The version of the newest commit of any process.
    pub(in crate::embedded) fn newest(&self) -> Result<Version> {
        Ok(self.begin_read()?.version)
    }

    /// Notifies the watchers of the commits of other processes that this one has read. The caller holds
    /// `publishing`.
    pub(in crate::embedded) fn report_foreign_commits(&self) {
        self.journal.take_foreign_commits().report(&self.recent);
    }

    /// Makes every commit durable.
    pub(in crate::embedded) fn sync(&self) -> Result<()> {
        self.journal.sync()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.merger.stop();
        if self.base.access == Access::Read {
            return;
        }
        if let Err(error) = self.journal.check_not_replaced() {
            // Commits after the removal have failed with an error already.
            tracing::debug!(%error, "the directory is not closed, as it was removed or replaced");
            return;
        }
        let synced = match self.config.durability {
            Durability::Durable => Ok(()),
            Durability::Relaxed => self.sync(),
        };
        if let Err(error) = synced.and_then(|()| self.journal.merge_at_end()) {
            let dir = self.dir().display();
            tracing::warn!(%dir, %error, "the journal cannot be merged and is kept");
        }
    }
}
