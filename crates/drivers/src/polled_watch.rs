//! Watches on an engine that is shared between processes and has no notifications: commits of this process
//! come from the ring of recent commits; those of other processes are detected by polling the newest
//! version.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};
use parking_lot::Mutex;

use crate::recent_commits::{RecentCommits, deadline};

/// How often a waiting watcher polls for commits of other processes.
pub const WATCH_POLL: Duration = Duration::from_millis(10);

/// An engine that is polled.
pub(crate) trait PolledEngine: Send + Sync {
    /// The recent commits of this process.
    fn recent(&self) -> &RecentCommits;

    /// Locked from a commit until it is in [`Self::recent`], so that a watcher that polls the newest
    /// version does not mistake it for a commit of another process.
    fn publishing(&self) -> &Mutex<()>;

    /// The newest version, by any process, that is visible to snapshots.
    fn newest(self: &Arc<Self>) -> Result<Version>;

    /// Adds the commits of other processes to [`Self::recent`]. The caller holds [`Self::publishing`].
    fn detect_foreign_commits(self: &Arc<Self>) -> Result<()> {
        self.recent().push_foreign(self.newest()?);
        Ok(())
    }
}

/// A watch of a polled engine.
pub(crate) struct PolledWatch<E> {
    engine: Arc<E>,
    range: KeyRange,
    after: Version,
}

impl<E: PolledEngine> PolledWatch<E> {
    pub(crate) fn new(engine: Arc<E>, range: KeyRange, after: Version) -> Self {
        Self {
            engine,
            range,
            after,
        }
    }
}

impl<E: PolledEngine> Watch for PolledWatch<E> {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let deadline = deadline(timeout);
        let recent = self.engine.recent();
        loop {
            // Buffered events come first: the engine is polled only if there are none.
            if let Some(event) = recent.event(&self.range, &mut self.after) {
                return Ok(Some(event));
            }
            detect_foreign_commits(&self.engine)?;
            let event = recent.event(&self.range, &mut self.after);
            let now = Instant::now();
            if event.is_some() || now >= deadline {
                return Ok(event);
            }
            recent.wait(self.after, deadline.min(now + WATCH_POLL));
        }
    }
}

/// Detects commits of other processes. Skipped while this process commits: no other process can commit
/// then, and the commit itself reports those before it.
fn detect_foreign_commits(engine: &Arc<impl PolledEngine>) -> Result<()> {
    if let Some(_publishing) = engine.publishing().try_lock() {
        engine.detect_foreign_commits()?;
    }
    Ok(())
}
