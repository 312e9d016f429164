//! The messages that wait for a program.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The maximum number of messages that wait for a program. A program that does not read them is disconnected.
pub const OUTBOX_MESSAGES_MAX: usize = 4096;

/// The maximum number of bytes of these messages; a single message may have more.
pub const OUTBOX_BYTES_MAX: usize = 64 << 20;

/// Messages in order, until it is closed.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<OutboxState>,
    changed: Condvar,
}

#[derive(Default)]
struct OutboxState {
    messages: VecDeque<String>,
    bytes: usize,
    is_closed: bool,
}

/// Why a message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutboxError {
    Full,
    Closed,
}

impl OutboxState {
    fn is_full(&self) -> bool {
        self.messages.len() >= OUTBOX_MESSAGES_MAX || self.bytes >= OUTBOX_BYTES_MAX
    }

    fn add(&mut self, message: String) {
        self.bytes += message.len();
        self.messages.push_back(message);
    }
}

impl Outbox {
    /// Adds a message; never waits.
    pub fn push(&self, message: String) -> Result<(), OutboxError> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(OutboxError::Closed);
        }
        if state.is_full() {
            return Err(OutboxError::Full);
        }
        state.add(message);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Adds a message; waits while it is full.
    pub fn push_waiting(&self, message: String) -> Result<(), OutboxError> {
        let mut state = self.state.lock();
        while state.is_full() && !state.is_closed {
            self.changed.wait(&mut state);
        }
        if state.is_closed {
            return Err(OutboxError::Closed);
        }
        state.add(message);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// The next message; `None` if there is none within the time.
    pub fn next(&self, timeout: Duration) -> Option<String> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state.lock();
        loop {
            if let Some(message) = state.messages.pop_front() {
                state.bytes -= message.len();
                drop(state);
                self.changed.notify_all();
                return Some(message);
            }
            if state.is_closed || self.changed.wait_until(&mut state, deadline).timed_out() {
                return None;
            }
        }
    }

    /// Rejects further messages, and drops those that wait.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.messages.clear();
        state.bytes = 0;
        drop(state);
        self.changed.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }
}
