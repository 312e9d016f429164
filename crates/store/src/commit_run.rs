//! Runs of commits that are decided on one snapshot: an engine behind a network then needs one round trip for all of them.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, KeyRange, Result, Snapshot, Version};
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};

use crate::commit_groups::RunEnd;
use crate::overlay::{Changes, Overlay};

/// The changes that were written since a run began, which its snapshot may lack.
#[derive(Default)]
pub(crate) struct RunChanges(Mutex<Vec<Arc<Changes>>>);

impl RunChanges {
    /// Adds what was written.
    pub fn add(&self, changes: &Arc<Changes>) {
        self.0.lock().push(Arc::clone(changes));
    }
}

/// A run of commits of one datastore, which one thread decides on one snapshot.
///
/// Each of the commits must have been asked for before the run began: a decision to change nothing, and an error, hold at the
/// time of the snapshot.
pub struct CommitRun {
    snapshot: Arc<Mutex<Box<dyn Snapshot + Send>>>,
    end: RunEnd,
}

impl CommitRun {
    pub(crate) fn new(snapshot: Box<dyn Snapshot + Send>, end: RunEnd) -> Self {
        Self {
            snapshot: Arc::new(Mutex::new(snapshot)),
            end,
        }
    }

    pub(crate) fn end(&self) -> &RunEnd {
        &self.end
    }

    /// The snapshot with changes; `None` if a decision has it.
    pub(crate) fn snapshot(&self, changes: &RunChanges) -> Option<Box<dyn Snapshot + Send>> {
        let turn: Box<dyn Snapshot + Send> = Box::new(Turn(self.snapshot.try_lock_arc()?));
        let written = changes.0.lock();
        Some(written.iter().fold(turn, |below, changes| {
            Box::new(Overlay::with(below, Arc::clone(changes)))
        }))
    }
}

/// The snapshot of a run, for one decision.
struct Turn(ArcMutexGuard<RawMutex, Box<dyn Snapshot + Send>>);

impl Snapshot for Turn {
    fn version(&self) -> Version {
        self.0.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.0.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        self.0.get_many(keys)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.0.scan(range, direction)
    }
}
