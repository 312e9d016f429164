//! Group commit: transactions that share one commit.
//!
//! If other threads are waiting when a transaction is done, it passes its changes to the next one, which
//! reads them as if they were stored, and so on; the last one commits all of them at once. So concurrent
//! writers share one commit, and one flush if commits are durable, while each call still returns only when
//! its own changes are committed. The changes of a rejected transaction are undone individually. If the
//! commit fails, nothing is changed: the transactions are retried together, or each in its own commit if one
//! of them may be the cause.

use std::sync::Arc;

use espalier_keyspace::{ErrorKind, Prefetch, Version};
use parking_lot::{Condvar, Mutex};

use crate::engine_view::EngineView;
use crate::limits::GROUP_ROWS_MAX;
use crate::ram::RamSnapshot;
use crate::rows::{Changes, CommitParts, Rows};
use crate::shared_state::{Body, Core};
use crate::transaction::{After, CacheUpdates, Committed, Transaction, TransactionOutput};
use crate::{Error, Result};

/// The outcome of a group.
#[derive(Clone)]
pub(crate) enum Outcome {
    /// It is committed.
    Committed,
    /// Another process was faster, or the committing thread panicked; nothing was changed.
    Conflict,
    /// It failed, possibly because of one member; nothing was changed.
    RetryAlone,
    /// It failed. The error states whether anything was changed.
    Failed(Arc<espalier_keyspace::Error>),
}

/// Where the members of a group wait for its outcome.
#[derive(Default)]
pub(crate) struct OutcomeCell {
    outcome: Mutex<Option<Outcome>>,
    decided: Condvar,
}

impl OutcomeCell {
    /// Waits for the outcome of the group.
    pub(crate) fn wait(&self) -> Outcome {
        let mut outcome = self.outcome.lock();
        loop {
            match &*outcome {
                Some(outcome) => return outcome.clone(),
                None => self.decided.wait(&mut outcome),
            }
        }
    }

    fn set(&self, outcome: Outcome) {
        self.outcome.lock().get_or_insert(outcome);
        self.decided.notify_all();
    }
}

// The last of those that wait commits, so that bodies stay on their threads: docs/decisions/0046.
/// Transactions over one snapshot that are committed together.
pub(crate) struct Group {
    pending: Option<Pending>,
    outcome: Arc<OutcomeCell>,
    /// The number of transactions that succeeded.
    members: usize,
}

struct Pending {
    engine: EngineView,
    ram: RamSnapshot,
    changes: Changes,
    cache_updates: CacheUpdates,
}

impl Group {
    /// An empty group over the newest state known to this process; `expect` is prefetched for its first
    /// member.
    pub(crate) fn new(core: &Core, expect: Option<Prefetch<'_>>) -> Result<Self> {
        let pending = Pending {
            engine: EngineView::new(&core.driver, expect)?,
            ram: core.ram.snapshot(),
            changes: Changes::default(),
            cache_updates: CacheUpdates::default(),
        };
        Ok(Self {
            pending: Some(pending),
            outcome: Arc::default(),
            members: 0,
        })
    }

    /// Runs `body` as the next member of the group; returns its callbacks for after the commit. If it fails,
    /// its changes are undone.
    pub(crate) fn join<R>(&mut self, core: &Core, body: Body<'_, R>) -> (Result<R>, After) {
        // If the body panics, the group is dropped, and earlier members are retried.
        let Some(mut pending) = self.pending.take() else {
            let message = "a transaction joined a group that has ended";
            return (Err(Error::corrupt(message)), After::new());
        };
        let is_first = self.members == 0;
        let (mut changes, cache_updates) = (pending.changes, pending.cache_updates);
        if !is_first {
            changes.begin();
        }
        let lengths = cache_updates.lengths();
        let rows = Rows::new(&core.layout, &pending.engine, &pending.ram, changes);
        let mut transaction = Transaction::new(core, rows, cache_updates);
        let result = transaction.run(body);
        let mut output = transaction.end();
        match &result {
            Ok(_) => self.members += 1,
            Err(_) if is_first => output = TransactionOutput::default(),
            Err(_) => {
                output.changes.undo();
                output.cache_updates.truncate(&lengths);
                output.after.clear();
            }
        }
        pending.changes = output.changes;
        pending.cache_updates = output.cache_updates;
        self.pending = Some(pending);
        (result, output.after)
    }

    /// The engine version that the group has read, if it has read the engine.
    pub(crate) fn read_version(&self) -> Option<Version> {
        self.pending.as_ref()?.engine.read_version()
    }

    /// Whether all members failed, so that there is nothing to commit.
    pub(crate) fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// Whether another member may join.
    pub(crate) fn has_room(&self) -> bool {
        let pending = self.pending.as_ref();
        pending.is_some_and(|pending| pending.changes.len() < GROUP_ROWS_MAX)
    }

    /// Where its members wait.
    pub(crate) fn outcome(&self) -> Arc<OutcomeCell> {
        Arc::clone(&self.outcome)
    }

    /// Commits the group and notifies its members.
    pub(crate) fn commit(mut self, core: &Core) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let read_version = pending.engine.read_version();
        // The snapshots are no longer needed; they may hold resources of the engine.
        drop((pending.engine, pending.ram));
        let mut parts = pending.changes.into_parts(&core.layout);
        if let Some(read_version) = read_version {
            parts.engine.assume_met_at(read_version);
        }
        let cache_update_lock = core.cache_update_lock.lock();
        let outcome = match write(core, parts, read_version) {
            Ok(committed) => {
                pending.cache_updates.apply(committed);
                Outcome::Committed
            }
            Err(error) => match error.kind() {
                _ if error.is_conflict() => Outcome::Conflict,
                ErrorKind::OutcomeUnknown => Outcome::Failed(Arc::new(error)),
                _ if self.members > 1 => Outcome::RetryAlone,
                _ => Outcome::Failed(Arc::new(error)),
            },
        };
        drop(cache_update_lock);
        self.outcome.set(outcome);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.outcome.set(Outcome::Conflict);
    }
}

fn write(
    core: &Core,
    parts: CommitParts,
    read_version: Option<Version>,
) -> espalier_keyspace::Result<Committed> {
    let engine = if parts.engine.operations().len() == 0 {
        // A read-only transaction has no precondition to test its reads; its snapshot may be stale.
        if let ([first, ..], Some(read_version)) = (parts.engine.preconditions(), read_version)
            && !core.driver.is_current(read_version)?
        {
            return Err(espalier_keyspace::Error::conflict(&first.key));
        }
        None
    } else {
        Some(core.driver.commit(parts.engine)?.version)
    };
    let ram = core.ram.apply(parts.ram)?;
    Ok(Committed { engine, ram })
}
