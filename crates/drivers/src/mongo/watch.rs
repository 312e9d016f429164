//! Watching: commits of this process wake a watcher, those of others are looked for.

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
    /// The last version that was told or passed over.
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
            // What this process has not seen, or not any more, the server may still have.
            let known = recent.forgotten();
            if self.after < known {
                self.ahead = self.engine.commits_after(self.after.0, known.0)?.into();
                if self.ahead.is_empty() {
                    self.after = known;
                    return Ok(Some(WatchEvent::Gap { version: known }));
                }
                continue;
            }
            // What is known is told first: the server is asked when there is nothing else to do.
            if let Some(event) = recent.event(&self.range, &mut self.after) {
                return Ok(Some(event));
            }
            self.engine.follow()?;
            let now = Instant::now();
            if now >= deadline {
                return Ok(recent.event(&self.range, &mut self.after));
            }
            recent.wait(self.after, deadline.min(now + WATCH_POLL));
        }
    }
}
