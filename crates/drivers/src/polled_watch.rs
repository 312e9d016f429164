//! Watching an engine that several processes share and that does not tell: this process's commits
//! are told by the ring of recent commits, those of others are noticed by asking for the newest
//! version.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};
use parking_lot::Mutex;

use crate::recent_commits::{RecentCommits, deadline};

/// How often a waiting watcher looks for the commits of other processes.
pub const WATCH_POLL: Duration = Duration::from_millis(10);

/// An engine that is asked.
pub(crate) trait PolledEngine: Send + Sync {
    /// The newest commits of this process.
    fn recent(&self) -> &RecentCommits;

    /// Held from a commit until it stands in [`Self::recent`], so that a watcher that asks for the
    /// newest version does not take it for another process's.
    fn publishing(&self) -> &Mutex<()>;

    /// The version of the newest commit of any process that snapshots show already.
    fn newest(self: &Arc<Self>) -> Result<Version>;

    /// Has [`Self::recent`] know of the commits of others. The caller holds [`Self::publishing`].
    fn detect_foreign_commits(self: &Arc<Self>) -> Result<()> {
        self.recent().push_foreign(self.newest()?);
        Ok(())
    }
}

/// A watch of such an engine.
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
            // What is known is told first: the engine is looked at when there is nothing else to do.
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

/// Tells of the commits of other processes. While this one is committing, nobody else is, and the
/// commit itself tells of those before it.
fn detect_foreign_commits(engine: &Arc<impl PolledEngine>) -> Result<()> {
    if let Some(_publishing) = engine.publishing().try_lock() {
        engine.detect_foreign_commits()?;
    }
    Ok(())
}
