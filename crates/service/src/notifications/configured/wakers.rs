//! Wakes the sessions of receivers after changes.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// Counts changes, and wakes the tasks that wait for one.
#[derive(Default)]
pub(super) struct Wakers(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    revision: u64,
    /// The number of tasks that there were.
    added: u64,
    tasks: BTreeMap<u64, Waker>,
}

impl Wakers {
    /// The number of a new task.
    pub fn add(&self) -> u64 {
        let mut waiting = self.0.lock();
        waiting.added += 1;
        waiting.added
    }

    /// A task waits no more.
    pub fn remove(&self, task: u64) {
        self.0.lock().tasks.remove(&task);
    }

    /// Records a change.
    pub fn wake(&self) {
        let tasks = {
            let mut waiting = self.0.lock();
            waiting.revision += 1;
            std::mem::take(&mut waiting.tasks)
        };
        tasks.into_values().for_each(Waker::wake);
    }

    /// Whether there was a change since a revision, which then is that of now.
    pub fn poll(&self, task: u64, seen: &mut u64, context: &Context<'_>) -> Poll<()> {
        let mut waiting = self.0.lock();
        if std::mem::replace(seen, waiting.revision) != waiting.revision {
            return Poll::Ready(());
        }
        waiting.tasks.insert(task, context.waker().clone());
        Poll::Pending
    }
}
