//! Watching the tables: the ring of recent commits tells, which this process's commits and a
//! follower of everybody's feed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};

use super::engine::{Engine, Following};
use crate::recent_commits::deadline;

pub(super) struct PostgresWatch {
    engine: Arc<Engine>,
    following: Arc<Following>,
    range: KeyRange,
    after: Version,
}

impl PostgresWatch {
    pub(super) fn new(engine: &Arc<Engine>, range: KeyRange, after: Version) -> Self {
        Self {
            following: engine.follow(after),
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
                return self.following.result().map(|()| None);
            }
            self.engine.recent.wait(self.after, deadline);
        }
    }
}
