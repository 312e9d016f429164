//! Following the head: commits of this process wake a watcher, those of others are looked for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{ErrorKind, Result};
use mongodb::bson::doc;

use super::engine::{Commit, Engine, Query, revision_text};
use crate::polled::WATCH_POLL;
use crate::recent::deadline;
use crate::staged::engine::{Follow, Followed};

/// Commits that are read at once.
const COMMITS: usize = 64;

/// Commits that are read one by one.
const STEPS_MAX: u64 = 4;

pub(super) struct MongoFollow {
    engine: Arc<Engine>,
    /// The last revision that was told or passed over.
    after: u64,
    ahead: VecDeque<Commit>,
}

impl MongoFollow {
    pub(super) fn new(engine: Arc<Engine>, after: u64) -> Self {
        Self {
            engine,
            after,
            ahead: VecDeque::new(),
        }
    }

    /// The commits up to a revision that follow, or the first of them.
    fn fetch(&self, newest: u64) -> Result<Vec<Commit>> {
        if newest - self.after <= STEPS_MAX {
            let commits = (self.after + 1..=newest).map(|at| self.engine.commit_at(at));
            let commits: Vec<_> = commits.collect::<Result<_>>()?;
            return Ok(commits.into_iter().flatten().collect());
        }
        let (from, to) = (revision_text(self.after), revision_text(newest));
        let filter = doc! { "_id": { "$gt": from, "$lte": to } };
        let found = self
            .engine
            .server
            .find("commits", Query::new(filter, 1, COMMITS))?;
        found.iter().map(Commit::read).collect()
    }

    /// Whether all commits that follow are there. Where some were deleted, a process that was halted
    /// since before may have put one of its own into the place, for the moment until it sees that.
    fn is_kept(&self) -> Result<bool> {
        match self.engine.check_kept(self.after) {
            Err(error) if error.kind() == ErrorKind::SnapshotTooOld => Ok(false),
            kept => kept.map(|()| true),
        }
    }
}

impl Follow for MongoFollow {
    fn next(&mut self, timeout: Duration) -> Result<Option<Followed>> {
        let deadline = deadline(timeout);
        loop {
            while let Some(commit) = self.ahead.pop_front() {
                let revision = commit.state.revision;
                if revision != self.after + 1 {
                    self.ahead.clear();
                    return Ok(Some(Followed::Forgotten));
                }
                self.after = revision;
                if let Some(value) = commit.told {
                    return Ok(Some(Followed::Written { value, revision }));
                }
            }
            let (newest, _) = self.engine.newest()?;
            if newest.revision > self.after {
                self.ahead = self.fetch(newest.revision)?.into();
                if self.ahead.is_empty() || !self.is_kept()? {
                    self.ahead.clear();
                    return Ok(Some(Followed::Forgotten));
                }
                continue;
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(None);
            }
            self.engine
                .chain
                .wait(self.after, deadline.min(now + WATCH_POLL));
        }
    }
}
