//! Event queues of commits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::registry::SubscriptionGuard;
use crate::clock::Timestamp;
use crate::tree::changes::Diff;

/// Maximum number of commits in a queue.
pub const QUEUE_EVENTS_MAX: usize = 1024;

/// Maximum number of changed nodes of all commits in a queue; a single commit may have more.
pub const QUEUE_CHANGES_MAX: usize = 1_000_000;

/// A commit, as reported to subscribers.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The version that it created.
    pub version: u64,
    /// The time of the commit.
    pub time: Timestamp,
    /// The author; may be empty.
    pub author: String,
    /// The comment; may be empty.
    pub comment: String,
    /// The changes; shared by all recipients.
    pub diff: Arc<Diff>,
}

/// Commits that were dropped because the queue was full or the diff too large. They can be read from the
/// history: [`crate::Tree::each_difference`] from the version before `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lagged {
    /// The number of commits.
    pub events: u64,
    /// The version of the first one.
    pub first: u64,
    /// The version of the last one.
    pub last: u64,
}

/// An event of a queue.
#[derive(Clone, Debug)]
pub enum Event {
    /// A commit.
    Committed(Arc<Committed>),
    /// Commits that were dropped, before the following ones.
    Lagged(Lagged),
}

impl Event {
    fn changes(&self) -> usize {
        match self {
            Self::Committed(committed) => committed.diff.len(),
            Self::Lagged(_) => 0,
        }
    }

    fn as_lagged(&self) -> Lagged {
        match self {
            Self::Committed(committed) => Lagged::one(committed.version),
            Self::Lagged(lagged) => *lagged,
        }
    }
}

impl Lagged {
    pub(super) fn one(version: u64) -> Self {
        Self {
            events: 1,
            first: version,
            last: version,
        }
    }

    fn and(self, later: Self) -> Self {
        Self {
            events: self.events + later.events,
            first: self.first,
            last: later.last,
        }
    }
}

#[derive(Default)]
struct QueueState {
    /// The dropped commits, before all others.
    lost: Option<Lagged>,
    events: VecDeque<Event>,
    changes: usize,
}

/// A queue that commits fill for one reader.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    arrived: Condvar,
}

impl Queue {
    /// Adds an event; drops the oldest ones if the queue is full. Never waits for the reader.
    pub fn push(&self, event: Event) {
        let mut state = self.state.lock();
        state.changes += event.changes();
        state.events.push_back(event);
        while state.events.len() > 1
            && (state.events.len() > QUEUE_EVENTS_MAX || state.changes > QUEUE_CHANGES_MAX)
        {
            let Some(oldest) = state.events.pop_front() else {
                break;
            };
            state.changes -= oldest.changes();
            let lost = oldest.as_lagged();
            state.lost = Some(state.lost.map_or(lost, |before| before.and(lost)));
        }
        drop(state);
        self.arrived.notify_all();
    }
}

impl QueueState {
    fn take(&mut self) -> Option<Event> {
        if let Some(lost) = self.lost.take() {
            return Some(Event::Lagged(lost));
        }
        let event = self.events.pop_front()?;
        self.changes -= event.changes();
        Some(event)
    }
}

/// The commits of a subscription. Dropping it ends the subscription.
pub struct Events {
    queue: Arc<Queue>,
    _subscribed: SubscriptionGuard,
}

impl Events {
    pub(super) fn new(queue: Arc<Queue>, subscribed: SubscriptionGuard) -> Self {
        Self {
            queue,
            _subscribed: subscribed,
        }
    }

    /// Returns the next event, if there is one.
    pub fn take(&self) -> Option<Event> {
        self.queue.state.lock().take()
    }

    /// Returns the next event; waits for it up to a timeout.
    pub fn next(&self, timeout: Duration) -> Option<Event> {
        let deadline = Instant::now() + timeout;
        let mut state = self.queue.state.lock();
        loop {
            if let Some(event) = state.take() {
                return Some(event);
            }
            let wait = self.queue.arrived.wait_until(&mut state, deadline);
            if wait.timed_out() {
                return state.take();
            }
        }
    }
}
