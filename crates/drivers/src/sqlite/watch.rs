//! Watching the SQLite engine: this process's commits are told by the ring of recent commits,
//! those of others are noticed by reading the newest version.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};

use super::engine::Engine;
use crate::recent::deadline;

/// How often a waiting watcher looks for the commits of other processes.
pub const WATCH_POLL: Duration = Duration::from_millis(10);

pub(super) struct SqliteWatch {
    engine: Arc<Engine>,
    range: KeyRange,
    after: Version,
}

impl SqliteWatch {
    pub(super) fn new(engine: Arc<Engine>, range: KeyRange, after: Version) -> Self {
        Self {
            engine,
            range,
            after,
        }
    }
}

impl Watch for SqliteWatch {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let deadline = deadline(timeout);
        loop {
            look_for_others(&self.engine)?;
            let event = self.engine.recent.event(&self.range, &mut self.after);
            let now = Instant::now();
            if event.is_some() || now >= deadline {
                return Ok(event);
            }
            let until = deadline.min(now + WATCH_POLL);
            self.engine.recent.wait(self.after, until);
        }
    }
}

/// Tells of the commits of other processes. While this one is committing, nobody else is, and the
/// commit itself tells of those before it.
fn look_for_others(engine: &Engine) -> Result<()> {
    if let Some(_publishing) = engine.publishing.try_lock() {
        engine.recent.push_foreign(engine.newest()?);
    }
    Ok(())
}
