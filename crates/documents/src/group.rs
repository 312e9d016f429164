//! Transactions that are committed together.
//!
//! A transaction whose turn comes while others wait for theirs leaves what it changed to the next,
//! which reads it as if it were there, and so on; the last commits it all at once. So writers at
//! the same time share one commit, and one flush where commits are durable, while each call still
//! returns only when its own changes are committed. What a transaction changed that is refused is
//! taken back alone. Where the commit fails, none of them happened: they are done again, or each
//! by itself where one of them may be to blame.

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

/// What becomes of a group.
#[derive(Clone)]
pub(crate) enum Fate {
    /// It is committed.
    Committed,
    /// Another process was faster, or the one who had it is gone; nothing happened.
    Overtaken,
    /// It failed, perhaps for one of several; nothing happened.
    Divided,
    /// It failed. Whether anything happened is what the error says.
    Failed(Arc<espalier_keyspace::Error>),
}

/// Where those of a group wait.
#[derive(Default)]
pub(crate) struct Outcome {
    fate: Mutex<Option<Fate>>,
    told: Condvar,
}

impl Outcome {
    /// What became of the group; waits until it is known.
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

/// Transactions over one view that are committed together.
pub(crate) struct Group {
    gathered: Option<Gathered>,
    outcome: Arc<Outcome>,
    /// How many transactions there are that did not fail.
    members: usize,
}

struct Gathered {
    engine: EngineView,
    ram: RamSnapshot,
    changes: Changes,
    news: News,
}

impl Group {
    /// Without a member, over the newest state that is known here, with what its first one expects to
    /// read of the engine, where it knows.
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

    /// Does what `body` says as one more of the group, and returns what has to be called after the
    /// commit. Where it fails, nothing of it stays.
    pub(crate) fn join<R>(&mut self, core: &Core, body: Body<'_, R>) -> (Result<R>, After) {
        // Where the body panics, all is gone with it, and those before it do theirs again.
        let Some(mut gathered) = self.gathered.take() else {
            let message = "a group was joined after its end";
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

    /// The version of the engine that all of it is decided on, where it looked at the engine.
    pub(crate) fn seen(&self) -> Option<Version> {
        self.gathered.as_ref()?.engine.seen()
    }

    /// Whether all of it failed, so that there is nothing to commit.
    pub(crate) fn is_nothing(&self) -> bool {
        self.members == 0
    }

    /// Whether one more may join.
    pub(crate) fn has_room(&self) -> bool {
        let gathered = self.gathered.as_ref();
        gathered.is_some_and(|gathered| gathered.changes.len() < GROUP_ROWS_MAX)
    }

    /// Where its members wait.
    pub(crate) fn outcome(&self) -> Arc<Outcome> {
        Arc::clone(&self.outcome)
    }

    /// Commits it, and tells its members.
    pub(crate) fn commit(mut self, core: &Core) {
        let Some(gathered) = self.gathered.take() else {
            return;
        };
        let seen = gathered.engine.seen();
        // What its view holds back is not needed any more.
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
        // Nothing tests what was read here; it may be of a view that is behind.
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
