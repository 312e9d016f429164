//! Watches of the memory engine: events come from the ring of recent commits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};

use super::engine::Engine;
use crate::recent_commits::deadline;

pub(crate) struct MemoryWatch {
    engine: Arc<Engine>,
    range: KeyRange,
    after: Version,
}

impl MemoryWatch {
    pub(crate) fn new(engine: Arc<Engine>, range: KeyRange, after: Version) -> Self {
        Self {
            engine,
            range,
            after,
        }
    }
}

impl Watch for MemoryWatch {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let deadline = deadline(timeout);
        loop {
            let event = self.engine.recent.event(&self.range, &mut self.after);
            if event.is_some() || Instant::now() >= deadline {
                return Ok(event);
            }
            self.engine.recent.wait(self.after, deadline);
        }
    }
}
