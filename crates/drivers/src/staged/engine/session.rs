//! Commit sessions: determine whether a commit was applied after its response was lost.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rand::RngCore;

use super::batch_in_progress::ID_BYTES;

/// Maximum number of idle sessions that are kept.
const IDLE_SESSIONS_MAX: usize = 32;

/// The states of a commit.
const CANCELLED: u8 = 0;
const DONE: u8 = 1;
const GATED: u8 = 2;

/// A session, used by one commit at a time.
pub(crate) struct Session {
    pub(crate) name: [u8; ID_BYTES],
    /// The number of its last commit.
    pub(crate) sequence: u64,
    /// The revision that last wrote its cell; 0 if it has none.
    pub(crate) modified: u64,
}

impl Session {
    pub(crate) fn new() -> Self {
        let mut name = [0; ID_BYTES];
        rand::rng().fill_bytes(&mut name);
        Self {
            name,
            sequence: 0,
            modified: 0,
        }
    }
}

/// The session cell of a commit that was applied.
pub(crate) fn encode_done(sequence: u64) -> Vec<u8> {
    encode(sequence, DONE)
}

/// The session cell of a commit whose gate was created, so that it will be applied.
pub(crate) fn encode_gated(sequence: u64) -> Vec<u8> {
    encode(sequence, GATED)
}

/// The session cell that prevents a commit from being applied.
pub(crate) fn encode_cancelled(sequence: u64) -> Vec<u8> {
    encode(sequence, CANCELLED)
}

fn encode(sequence: u64, state: u8) -> Vec<u8> {
    [
        &sequence.to_be_bytes()[..],
        &[state],
        &now_ms().to_be_bytes(),
    ]
    .concat()
}

/// Whether a session cell shows that the commit was applied.
pub(crate) fn is_done(cell: &[u8], sequence: u64) -> bool {
    cell.starts_with(&[&sequence.to_be_bytes()[..], &[DONE]].concat())
}

/// Whether a session cell shows that the gate of the commit was created.
pub(crate) fn is_gated(cell: &[u8], sequence: u64) -> bool {
    cell.starts_with(&[&sequence.to_be_bytes()[..], &[GATED]].concat())
}

/// Milliseconds since a session cell was written, by the local clock.
pub(crate) fn age_ms(cell: &[u8]) -> u64 {
    let written = cell.last_chunk().map_or(0, |ms| u64::from_be_bytes(*ms));
    now_ms().saturating_sub(written)
}

/// The wall clock. It only decides when data of dead processes is removed.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// The idle sessions of a driver.
#[derive(Default)]
pub(crate) struct SessionPool {
    idle: Mutex<Vec<Session>>,
}

impl SessionPool {
    pub(crate) fn take(&self) -> Session {
        self.idle.lock().pop().unwrap_or_else(Session::new)
    }

    pub(crate) fn give_back(&self, session: Session) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_SESSIONS_MAX {
            idle.push(session);
        }
    }
}
