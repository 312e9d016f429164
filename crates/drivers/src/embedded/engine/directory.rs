//! An open directory: LMDB, the journal over it, and what the threads of this process share.

use std::path::Path;
use std::sync::Arc;

use espalier_keyspace::{Result, Version};
use heed::{RoTxn, WithoutTls};
use parking_lot::Mutex;

use super::environment::{Base, Inside};
use super::journal::{Journal, Layers, Merger};
use crate::commit_queue::CommitQueue;
use crate::embedded::{Config, Durability};
use crate::files::Access;
use crate::recent_commits::RecentCommits;

/// An open directory, shared by everybody in this process who opened it.
pub(in crate::embedded) struct Engine {
    pub(in crate::embedded) config: Config,
    pub(in crate::embedded) base: Arc<Base>,
    pub(in crate::embedded) journal: Arc<Journal>,
    pub(in crate::embedded) merger: Merger,
    /// Commits that wait for their turn.
    pub(in crate::embedded) queue: CommitQueue,
    /// The newest commits, for watchers.
    pub(in crate::embedded) recent: RecentCommits,
    /// Held from a commit until it stands in `recent`, so that a watcher that looks for the newest
    /// version does not take it for another process's; and while the watchers are told of those.
    pub(in crate::embedded) publishing: Mutex<()>,
}

/// A committed state, held. Fields are dropped in order: the transaction ends before the gate is left.
pub(in crate::embedded) struct Reading {
    pub(in crate::embedded) txn: RoTxn<'static, WithoutTls>,
    pub(in crate::embedded) inside: Inside,
    pub(in crate::embedded) layers: Layers,
    pub(in crate::embedded) version: Version,
}

impl Engine {
    /// An engine over LMDB that is open.
    pub(super) fn new(config: Config, base: Arc<Base>) -> Result<Self> {
        let journal = Arc::new(Journal::open(&base, config.journal_bytes as u64)?);
        let newest = journal.view()?.version;
        // Watchers begin after that, so they are not told of what others have committed while this opened.
        drop(journal.take_others());
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
        };
        engine.give_back_of_killed();
        Ok(engine)
    }

    /// Gives back the disk space that a process left which was killed as it wrote. Whoever opens the directory
    /// waits for nobody: where another process is committing, that one does so if it fails.
    fn give_back_of_killed(&self) {
        if self.base.access == Access::Read || !self.base.has_more_than_counts().unwrap_or(false) {
            return;
        }
        match self.journal.turn_at_once() {
            Ok(_turn) => self.base.give_back(),
            Err(error) => tracing::debug!(%error, "another process may be writing"),
        }
    }

    /// The directory, without links in its path.
    pub(in crate::embedded) fn dir(&self) -> &Path {
        &self.base.dir
    }

    /// Begins to read the newest state.
    pub(in crate::embedded) fn begin_read(&self) -> Result<Reading> {
        let begun = self.journal.read(|| {
            let (inside, txn) = self.base.begin_read()?;
            Ok((txn.id() as u64, (inside, txn)))
        });
        let ((inside, txn), layers, version) = begun?;
        Ok(Reading {
            txn,
            inside,
            layers,
            version,
        })
    }

    /// The version of the newest commit of any process.
    pub(in crate::embedded) fn newest(&self) -> Result<Version> {
        Ok(self.begin_read()?.version)
    }

    /// Tells the watchers what others have committed, as far as this process has read it. The caller
    /// holds `publishing`.
    pub(in crate::embedded) fn tell_others(&self) {
        self.journal.take_others().tell(&self.recent);
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
            // Whoever removed it knows, and so does whoever tried to commit since.
            tracing::debug!(%error, "there is nothing to close");
            return;
        }
        let synced = match self.config.durability {
            Durability::Durable => Ok(()),
            Durability::Relaxed => self.sync(),
        };
        if let Err(error) = synced.and_then(|()| self.journal.merge_at_end()) {
            let dir = self.dir().display();
            tracing::warn!(%dir, %error, "what is in the journal stays there");
        }
    }
}
