//! The requests without a reply, and the end of a session.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::input::Piece;
use crate::netconf_client::error::ClientError;

/// The number of parts of a reply that wait to be read.
const PARTS_QUEUED_MAX: usize = 4;

/// What the task that receives shares with the requests that wait.
#[derive(Default)]
pub(super) struct Pending {
    state: Mutex<State>,
    /// Signalled when a request is added.
    pub added: Notify,
}

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    end: Option<ClientError>,
}

struct Request {
    id: String,
    parts: mpsc::Sender<Piece>,
}

impl Pending {
    /// Adds a request. Its reply arrives where the result is.
    ///
    /// # Errors
    /// Why the session has ended.
    pub fn add(&self, id: String) -> Result<mpsc::Receiver<Piece>, ClientError> {
        let (parts, receiver) = mpsc::channel(PARTS_QUEUED_MAX);
        {
            let mut state = self.state.lock();
            if let Some(end) = &state.end {
                return Err(end.clone());
            }
            state.requests.push_back(Request { id, parts });
        }
        self.added.notify_waiters();
        Ok(receiver)
    }

    /// Takes the request with an identifier; without one the oldest, as a server cannot repeat the identifier of a message
    /// that it could not parse.
    pub fn take(&self, id: Option<&str>) -> Option<mpsc::Sender<Piece>> {
        let mut state = self.state.lock();
        let index = match id {
            Some(id) => state.requests.iter().position(|one| one.id == id)?,
            None => 0,
        };
        state.requests.remove(index).map(|request| request.parts)
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.state.lock().requests.is_empty()
    }

    /// Ends the session: all requests fail. The first reason is kept.
    pub fn end(&self, reason: ClientError) {
        let mut state = self.state.lock();
        state.end.get_or_insert(reason);
        state.requests.clear();
    }

    /// Why the session has ended.
    pub fn reason(&self) -> ClientError {
        self.state.lock().end.clone().unwrap_or(ClientError::Closed)
    }

    /// Whether the session has ended.
    pub fn is_ended(&self) -> bool {
        self.state.lock().end.is_some()
    }
}
