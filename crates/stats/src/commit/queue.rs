//! Group commit of concurrent requests: one thread is the leader and commits for the others, which wait.
//!
//! So writers to the same buckets do not conflict, and share the flush of a durable commit. Each request is
//! still executed or rejected individually.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::{Error, ErrorKind, Outcome, Request, Result};

/// The maximum number of requests in one group.
const GROUP_MAX: usize = 256;

/// The state of leadership and the waiting requests.
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_leader: bool,
    waiting: VecDeque<Ticket>,
}

struct Ticket {
    request: Request,
    result: Arc<Mutex<Option<Result<Outcome>>>>,
}

/// Commits requests together; one result for each.
type Commit<'a> = &'a dyn Fn(&[Request]) -> Vec<Result<Outcome>>;

/// Leadership. Dropping it, also in a panic, passes it on.
struct Leadership<'a>(&'a Queue);

impl Drop for Leadership<'_> {
    fn drop(&mut self) {
        self.0.state.lock().has_leader = false;
        self.0.changed.notify_all();
    }
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Has a request committed by this thread or by another one.
    pub(crate) fn submit(&self, request: Request, commit: Commit<'_>) -> Result<Outcome> {
        let result = Arc::new(Mutex::new(None));
        let mut state = self.state.lock();
        state.waiting.push_back(Ticket {
            request,
            result: Arc::clone(&result),
        });
        loop {
            if let Some(result) = result.lock().take() {
                return result;
            }
            if state.has_leader {
                self.changed.wait(&mut state);
                continue;
            }
            state.has_leader = true;
            let size = state.waiting.len().min(GROUP_MAX);
            let group: Vec<_> = state.waiting.drain(..size).collect();
            drop(state);
            self.lead(group, commit);
            state = self.state.lock();
        }
    }

    fn lead(&self, group: Vec<Ticket>, commit: Commit<'_>) {
        let _leadership = Leadership(self);
        let (requests, mut slots): (Vec<_>, Vec<_>) = group
            .into_iter()
            .map(|ticket| (ticket.request, ResultSlot(ticket.result)))
            .unzip();
        let results = commit(&requests);
        for (slot, result) in slots.drain(..).zip(results) {
            *slot.0.lock() = Some(result);
        }
    }
}

/// Where the result of a request goes. If the leader panics, waiting threads get an error.
struct ResultSlot(Arc<Mutex<Option<Result<Outcome>>>>);

impl Drop for ResultSlot {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let message = "the thread that committed this request panicked";
            let mut result = self.0.lock();
            result.get_or_insert_with(|| Err(Error::new(ErrorKind::Keyspace, message)));
        }
    }
}
