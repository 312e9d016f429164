//! The activity of a connection: used for its timeouts, and to choose which connection to close when there
//! are too many.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// Bytes that must be written before a write counts as progress. Responses to HTTP/2 PINGs are smaller, so
/// a client cannot keep an idle connection open by sending them.
const PROGRESS_BYTES: usize = 4096;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No request is in progress.
    Waiting,
    /// All requests in progress wait for their bodies.
    Receiving,
    /// All requests in progress wait for the client: for a body, or to read the response; at least one for
    /// the latter.
    Sending,
    /// A request is being handled, or more of a response is being produced.
    Working,
}

/// The state at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    pub(super) phase: Phase,
    /// The number of requests that were answered on this connection.
    pub(super) answered: u64,
    /// The last change of phase, or the last progress.
    pub(super) since: Instant,
    /// Whether the connection is being closed to free a slot.
    pub(super) is_evicted: bool,
}

// All time-outs are here, so that no front end lacks one: docs/decisions/0050.
/// The activity of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<ActivityState>,
    evicted: Notify,
}

#[derive(Debug)]
struct ActivityState {
    requests: usize,
    receiving: usize,
    sending: usize,
    answered: u64,
    is_evicted: bool,
    since: Instant,
    written: usize,
}

impl Activity {
    /// The activity of a new connection.
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(ActivityState {
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

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current state.
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

    /// Records written bytes.
    pub(super) fn record_written(&self, bytes: usize) {
        let mut state = self.state();
        state.written += bytes;
        if state.written >= PROGRESS_BYTES {
            state.written = 0;
            state.since = Instant::now();
        }
    }

    /// Records that the server waits for a request body.
    pub(super) fn begin_body_wait(&self) {
        self.state().receiving += 1;
    }

    /// Records that the server no longer waits for a request body.
    pub(super) fn end_body_wait(&self) {
        let mut state = self.state();
        state.receiving -= 1;
        state.since = Instant::now();
    }

    /// Records that the server waits for the client to read a response chunk.
    pub(super) fn begin_client_wait(&self) {
        let mut state = self.state();
        state.sending += 1;
        state.since = Instant::now();
    }

    /// Records that the chunk was read, or that the response was dropped.
    pub(super) fn end_client_wait(&self) {
        self.state().sending -= 1;
    }

    /// Closes the connection.
    pub(super) fn evict(&self) {
        self.state().is_evicted = true;
        self.evicted.notify_one();
    }

    /// Completes when the connection is to be closed to free a slot.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

/// A request in progress, from its headers to the end of its response.
pub(super) struct RequestInProgress(Arc<Activity>);

impl RequestInProgress {
    pub(super) fn begin(activity: &Arc<Activity>) -> Self {
        activity.state().requests += 1;
        Self(Arc::clone(activity))
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests -= 1;
        state.answered += 1;
        state.since = Instant::now();
    }
}
