//! Watches: the newest version is polled to detect commits of other processes.

use std::sync::Arc;

use espalier_keyspace::{Result, Version};
use parking_lot::Mutex;

use super::engine::Engine;
use crate::polled_watch::{PolledEngine, PolledWatch};
use crate::recent_commits::RecentCommits;

pub use crate::polled_watch::WATCH_POLL;

/// A watch of this engine.
pub(super) type SqliteWatch = PolledWatch<Engine>;

impl PolledEngine for Engine {
    fn recent(&self) -> &RecentCommits {
        &self.recent
    }

    fn publishing(&self) -> &Mutex<()> {
        &self.publishing
    }

    fn newest(self: &Arc<Self>) -> Result<Version> {
        Self::newest(self)
    }
}
