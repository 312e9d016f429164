//! Watching: commits of this process wake a watcher, those of other processes are polled for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};

use super::engine::{Commit, Engine};
use crate::polled_watch::WATCH_POLL;
use crate::recent_commits::{deadline, event_of};

pub(super) struct MongoWatch {
    engine: Arc<Engine>,
    range: KeyRange,
    /// The last version that was reported or skipped.
    after: Version,
    ahead: VecDeque<Commit>,
}

impl MongoWatch {
    pub(super) fn new(engine: &Arc<Engine>, range: KeyRange, after: Version) -> Self {
        Self {
            engine: Arc::clone(engine),
            range,
            after,
            ahead: VecDeque::new(),
        }
    }
}

impl Watch for MongoWatch {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let deadline = deadline(timeout);
        let recent = &self.engine.chain.recent;
        loop {
            while let Some(commit) = self.ahead.pop_front() {
                self.after = Version(commit.version);
                if let Some(event) = event_of(self.after, commit.changes.as_ref(), &self.range) {
                    return Ok(Some(event));
                }
            }
            // The server may still have commits that this process does not have in memory.
            let forgotten = recent.forgotten();
            if self.after < forgotten {
                self.ahead = self.engine.commits_after(self.after.0, forgotten.0)?.into();
                if self.ahead.is_empty() {
                    self.after = forgotten;
                    return Ok(Some(WatchEvent::Gap { version: forgotten }));
                }
                continue;
            }
            // Commits in memory are reported first: the server is polled only if there are none.
            if let Some(event) = recent.event(&self.range, &mut self.after) {
                return Ok(Some(event));
            }
            self.engine.poll()?;
            let now = Instant::now();
            if now >= deadline {
                return Ok(recent.event(&self.range, &mut self.after));
            }
            recent.wait(self.after, deadline.min(now + WATCH_POLL));
        }
    }
}
