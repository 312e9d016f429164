//! Requests that come at once are committed together: whoever comes first leads, the others wait.
//!
//! So writers to the same buckets do not get into conflicts with one another, and share the flush
//! of a durable commit. Each request is still done as a whole or refused alone.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::{Error, ErrorKind, Outcome, Request, Result};

/// Requests that one leader takes at once.
const GROUP_MAX: usize = 256;

/// Who leads, and who waits.
pub(crate) struct Queue {
    state: Mutex<State>,
    turned: Condvar,
}

#[derive(Default)]
struct State {
    is_led: bool,
    waiting: VecDeque<Ticket>,
}

struct Ticket {
    request: Request,
    result: Arc<Mutex<Option<Result<Outcome>>>>,
}

/// Commits requests together; one result for each.
type Commit<'a> = &'a dyn Fn(&[Request]) -> Vec<Result<Outcome>>;

/// Being the leader. Dropping it, in a panic too, passes the lead on.
struct Lead<'a>(&'a Queue);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_led = false;
        self.0.turned.notify_all();
    }
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            turned: Condvar::new(),
        }
    }

    /// Has a request committed, by this thread or by another.
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
            if state.is_led {
                self.turned.wait(&mut state);
                continue;
            }
            state.is_led = true;
            let size = state.waiting.len().min(GROUP_MAX);
            let group: Vec<_> = state.waiting.drain(..size).collect();
            drop(state);
            self.lead(group, commit);
            state = self.state.lock();
        }
    }

    fn lead(&self, group: Vec<Ticket>, commit: Commit<'_>) {
        let _lead = Lead(self);
        let (requests, mut places): (Vec<_>, Vec<_>) = group
            .into_iter()
            .map(|ticket| (ticket.request, Place(ticket.result)))
            .unzip();
        let results = commit(&requests);
        for (place, result) in places.drain(..).zip(results) {
            *place.0.lock() = Some(result);
        }
    }
}

/// Where a result goes. When the leader panics, those who wait are told.
struct Place(Arc<Mutex<Option<Result<Outcome>>>>);

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let message = "the thread that committed for this one panicked";
            let mut result = self.0.lock();
            result.get_or_insert_with(|| Err(Error::new(ErrorKind::Keyspace, message)));
        }
    }
}
