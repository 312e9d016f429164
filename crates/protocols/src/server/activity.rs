//! What one connection is doing: the state behind its time-outs, and behind the choice of the
//! connection that is closed when there are too many.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// Bytes that must be written before a write counts as progress. Answers to HTTP/2 PINGs are smaller,
/// so a client cannot keep a connection without requests open by sending those.
const PROGRESS_BYTES: usize = 4096;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No request is under way.
    Waiting,
    /// The bodies of all requests under way are awaited.
    Receiving,
    /// For all requests under way, either the body is awaited, or the client has yet to take what
    /// was made of the answer; for one at least the latter.
    Sending,
    /// A request is being handled, or more of an answer is being made.
    Working,
}

/// The state at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    pub(super) phase: Phase,
    /// The requests that were answered on this connection.
    pub(super) answered: u64,
    /// The last change of phase, or the last progress.
    pub(super) since: Instant,
    /// Whether the connection is about to be closed for another.
    pub(super) is_evicted: bool,
}

/// What one connection is doing.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<State>,
    evicted: Notify,
}

#[derive(Debug)]
struct State {
    requests: usize,
    receiving: usize,
    sending: usize,
    answered: u64,
    is_evicted: bool,
    since: Instant,
    written: usize,
}

impl Activity {
    /// A connection that just began.
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                requests: 0,
                receiving: 0,
                sending: 0,
                answered: 0,
                is_evicted: false,
                since: Instant::now(),
                written: 0,
            }),
            evicted: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state now.
    pub(super) fn snapshot(&self) -> Snapshot {
        let state = self.state();
        Snapshot {
            phase: match (state.requests, state.receiving, state.sending) {
                (0, ..) => Phase::Waiting,
                (requests, receiving, _) if receiving >= requests => Phase::Receiving,
                (requests, receiving, sending) if receiving + sending >= requests => Phase::Sending,
                _ => Phase::Working,
            },
            answered: state.answered,
            since: state.since,
            is_evicted: state.is_evicted,
        }
    }

    /// Notes that bytes were written.
    pub(super) fn wrote(&self, bytes: usize) {
        let mut state = self.state();
        state.written += bytes;
        if state.written >= PROGRESS_BYTES {
            state.written = 0;
            state.since = Instant::now();
        }
    }

    /// Notes that the server waits for the body of a request.
    pub(super) fn awaits_body(&self) {
        self.state().receiving += 1;
    }

    /// Notes that it no longer does.
    pub(super) fn body_arrived(&self) {
        let mut state = self.state();
        state.receiving -= 1;
        state.since = Instant::now();
    }

    /// Notes that the client has yet to take a piece of an answer.
    pub(super) fn awaits_client(&self) {
        let mut state = self.state();
        state.sending += 1;
        state.since = Instant::now();
    }

    /// Notes that the client took it, or that it is no longer sent.
    pub(super) fn client_took(&self) {
        self.state().sending -= 1;
    }

    /// Closes the connection.
    pub(super) fn evict(&self) {
        self.state().is_evicted = true;
        self.evicted.notify_one();
    }

    /// Completes when the connection is to be closed for another.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

/// A request under way, from its head to the end of its answer.
pub(super) struct UnderWay(Arc<Activity>);

impl UnderWay {
    pub(super) fn begin(activity: &Arc<Activity>) -> Self {
        activity.state().requests += 1;
        Self(Arc::clone(activity))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.answered += 1;
        state.since = Instant::now();
    }
}
