//! Watches: the head contains the changes of the newest commit, and the engine reports each new head.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{KeyRange, Result, Version, Watch, WatchEvent};

use super::driver::Shared;
use super::engine::{CellStore, Follow, Followed, changes_of};
use crate::recent_commits::{deadline, event_of_changes};

pub(super) struct StagedWatch<C> {
    shared: Arc<Shared<C>>,
    range: KeyRange,
    follow: Box<dyn Follow>,
}

impl<C: CellStore> StagedWatch<C> {
    pub(super) fn new(shared: &Arc<Shared<C>>, range: KeyRange, after: Version) -> Result<Self> {
        let follow = shared.cells.follow(&shared.layout.head(), after.0)?;
        Ok(Self {
            shared: Arc::clone(shared),
            range,
            follow,
        })
    }

    fn event(&mut self, followed: Followed) -> Result<Option<WatchEvent>> {
        let (value, revision) = match followed {
            Followed::Written { value, revision } => (value, revision),
            Followed::Forgotten => {
                let head = self.shared.layout.head();
                let newest = self.shared.read_one(head.clone())?;
                let newest = newest.map_or(0, |cell| cell.modified);
                self.follow = self.shared.cells.follow(&head, newest)?;
                let version = Version(newest);
                return Ok(Some(WatchEvent::Gap { version }));
            }
        };
        let version = Version(revision);
        let Some(changes) = changes_of(&value)? else {
            return Ok(Some(WatchEvent::Gap { version }));
        };
        Ok(event_of_changes(version, changes, &self.range))
    }
}

impl<C: CellStore> Watch for StagedWatch<C> {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        let deadline = deadline(timeout);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(followed) = self.follow.next(left)? else {
                return Ok(None);
            };
            if let Some(event) = self.event(followed)? {
                return Ok(Some(event));
            }
        }
    }
}
