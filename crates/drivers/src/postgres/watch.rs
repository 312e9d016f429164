//! Watches: they read the ring of recent commits. This process adds its own commits to the ring, and the follower
//! adds those of other processes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};

use super::engine::{Engine, Follower};
use crate::recent_commits::deadline;

pub(super) struct PostgresWatch {
    engine: Arc<Engine>,
    follower: Arc<Follower>,
    range: KeyRange,
    after: Version,
}

impl PostgresWatch {
    pub(super) fn new(engine: &Arc<Engine>, range: KeyRange, after: Version) -> Self {
        Self {
            follower: engine.follow(after),
            engine: Arc::clone(engine),
            range,
            after,
        }
    }
}

impl Watch for PostgresWatch {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let deadline = deadline(timeout);
        loop {
            let event = self.engine.recent.event(&self.range, &mut self.after);
            if event.is_some() {
                return Ok(event);
            }
            if Instant::now() >= deadline {
                return self.follower.result().map(|()| None);
            }
            self.engine.recent.wait(self.after, deadline);
        }
    }
}
