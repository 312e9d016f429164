//! Group commit: transactions that share one commit.
//!
//! If other threads are waiting when a transaction is done, it passes its changes to the next one, which
//! reads them as if they were stored, and so on; the last one commits all of them at once. So concurrent
//! writers share one commit, and one flush if commits are durable, while each call still returns only when
//! its own changes are committed. The changes of a rejected transaction are undone individually. If the
//! commit fails, nothing is changed: the transactions are retried together, or each in its own commit if one
//! of them may be the cause.

use std::sync::Arc;

use espalier_keyspace::{ErrorKind, Expect, Version};
use parking_lot::{Condvar, Mutex};

use crate::core::{Body, Core};
use crate::engine_view::EngineView;
use crate::limits::GROUP_ROWS_MAX;
use crate::ram::RamSnapshot;
use crate::rows::{Changes, Parts, Rows};
use crate::transaction::{After, Committed, Ended, News, Transaction};
use crate::{Error, Result};

/// The outcome of a group.
#[derive(Clone)]
pub(crate) enum Fate {
    /// It is committed.
    Committed,
    /// Another process was faster, or the committing thread panicked; nothing was changed.
    Overtaken,
    /// It failed, possibly because of one member; nothing was changed.
    Divided,
    /// It failed. The error states whether anything was changed.
    Failed(Arc<espalier_keyspace::Error>),
}

/// Where the members of a group wait for its outcome.
#[derive(Default)]
pub(crate) struct Outcome {
    fate: Mutex<Option<Fate>>,
    told: Condvar,
}

impl Outcome {
    /// Waits for the outcome of the group.
    pub(crate) fn wait(&self) -> Fate {
        let mut fate = self.fate.lock();
        loop {
            match &*fate {
                Some(fate) => return fate.clone(),
                None => self.told.wait(&mut fate),
            }
        }
    }

    fn tell(&self, fate: Fate) {
        self.fate.lock().get_or_insert(fate);
        self.told.notify_all();
    }
}

/// Transactions over one snapshot that are committed together.
pub(crate) struct Group {
    gathered: Option<Gathered>,
    outcome: Arc<Outcome>,
    /// The number of transactions that succeeded.
    members: usize,
}

struct Gathered {
    engine: EngineView,
    ram: RamSnapshot,
    changes: Changes,
    news: News,
}

impl Group {
    /// An empty group over the newest state known to this process; `expect` is prefetched for its first
    /// member.
    pub(crate) fn new(core: &Core, expect: Option<Expect<'_>>) -> Result<Self> {
        let gathered = Gathered {
            engine: EngineView::new(&core.driver, expect)?,
            ram: core.ram.snapshot(),
            changes: Changes::default(),
            news: News::default(),
        };
        Ok(Self {
            gathered: Some(gathered),
            outcome: Arc::default(),
            members: 0,
        })
    }

    /// Runs `body` as the next member of the group; returns its callbacks for after the commit. If it fails,
    /// its changes are undone.
    pub(crate) fn join<R>(&mut self, core: &Core, body: Body<'_, R>) -> (Result<R>, After) {
        // If the body panics, the group is dropped, and earlier members are retried.
        let Some(mut gathered) = self.gathered.take() else {
            let message = "a transaction joined a group that has ended";
            return (Err(Error::corrupt(message)), After::new());
        };
        let is_first = self.members == 0;
        let (mut changes, news) = (gathered.changes, gathered.news);
        if !is_first {
            changes.begin();
        }
        let lengths = news.lengths();
        let rows = Rows::new(&core.layout, &gathered.engine, &gathered.ram, changes);
        let mut transaction = Transaction::new(core, rows, news);
        let result = transaction.run(body);
        let mut ended = transaction.end();
        match &result {
            Ok(_) => self.members += 1,
            Err(_) if is_first => ended = Ended::default(),
            Err(_) => {
                ended.changes.undo();
                ended.news.truncate(&lengths);
                ended.after.clear();
            }
        }
        gathered.changes = ended.changes;
        gathered.news = ended.news;
        self.gathered = Some(gathered);
        (result, ended.after)
    }

    /// The engine version that the group has read, if it has read the engine.
    pub(crate) fn seen(&self) -> Option<Version> {
        self.gathered.as_ref()?.engine.seen()
    }

    /// Whether all members failed, so that there is nothing to commit.
    pub(crate) fn is_nothing(&self) -> bool {
        self.members == 0
    }

    /// Whether another member may join.
    pub(crate) fn has_room(&self) -> bool {
        let gathered = self.gathered.as_ref();
        gathered.is_some_and(|gathered| gathered.changes.len() < GROUP_ROWS_MAX)
    }

    /// Where its members wait.
    pub(crate) fn outcome(&self) -> Arc<Outcome> {
        Arc::clone(&self.outcome)
    }

    /// Commits the group and notifies its members.
    pub(crate) fn commit(mut self, core: &Core) {
        let Some(gathered) = self.gathered.take() else {
            return;
        };
        let seen = gathered.engine.seen();
        // The snapshots are no longer needed; they may hold resources of the engine.
        drop((gathered.engine, gathered.ram));
        let mut parts = gathered.changes.into_parts(&core.layout);
        if let Some(seen) = seen {
            parts.engine.met_at(seen);
        }
        let telling = core.telling.lock();
        let fate = match write(core, parts, seen) {
            Ok(committed) => {
                gathered.news.tell(committed);
                Fate::Committed
            }
            Err(error) => match error.kind() {
                ErrorKind::Conflict | ErrorKind::SnapshotTooOld => Fate::Overtaken,
                ErrorKind::OutcomeUnknown => Fate::Failed(Arc::new(error)),
                _ if self.members > 1 => Fate::Divided,
                _ => Fate::Failed(Arc::new(error)),
            },
        };
        drop(telling);
        self.outcome.tell(fate);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.outcome.tell(Fate::Overtaken);
    }
}

fn write(core: &Core, parts: Parts, seen: Option<Version>) -> espalier_keyspace::Result<Committed> {
    let engine = if parts.engine.operations().len() == 0 {
        // A read-only transaction has no precondition to test its reads; its snapshot may be stale.
        if let ([first, ..], Some(seen)) = (parts.engine.preconditions(), seen)
            && !core.driver.is_current(seen)?
        {
            return Err(espalier_keyspace::Error::conflict(&first.key));
        }
        None
    } else {
        Some(core.driver.commit(parts.engine)?)
    };
    let ram = core.ram.apply(parts.ram)?;
    Ok(Committed { engine, ram })
}
