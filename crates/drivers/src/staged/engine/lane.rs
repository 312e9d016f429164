//! Lanes: what tells whether a commit happened whose answer was lost.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rand::RngCore;

use super::gate::ID_BYTES;

/// Lanes that are kept while no commit uses them.
const IDLE_MAX: usize = 32;

/// What became of a commit.
const VOID: u8 = 0;
const DONE: u8 = 1;
const GATED: u8 = 2;

/// A lane: only one commit at a time passes through it.
pub(crate) struct Lane {
    pub(crate) name: [u8; ID_BYTES],
    /// The number of its newest commit.
    pub(crate) sequence: u64,
    /// The revision that wrote its cell last; 0 when it has none yet.
    pub(crate) modified: u64,
}

impl Lane {
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

/// What the cell of a lane says when the commit of that number happened.
pub(crate) fn done(sequence: u64) -> Vec<u8> {
    encode(sequence, DONE)
}

/// What it says when the gate of that commit was made, so that it will happen.
pub(crate) fn gated(sequence: u64) -> Vec<u8> {
    encode(sequence, GATED)
}

/// What it says so that the commit of that number never happens.
pub(crate) fn void(sequence: u64) -> Vec<u8> {
    encode(sequence, VOID)
}

fn encode(sequence: u64, state: u8) -> Vec<u8> {
    [
        &sequence.to_be_bytes()[..],
        &[state],
        &now_ms().to_be_bytes(),
    ]
    .concat()
}

/// Whether the cell of a lane says that the commit of that number happened.
pub(crate) fn says_done(cell: &[u8], sequence: u64) -> bool {
    cell.starts_with(&[&sequence.to_be_bytes()[..], &[DONE]].concat())
}

/// Whether the cell of a lane says that the gate of that commit was made.
pub(crate) fn says_gated(cell: &[u8], sequence: u64) -> bool {
    cell.starts_with(&[&sequence.to_be_bytes()[..], &[GATED]].concat())
}

/// Milliseconds since the cell of a lane was written, as far as clocks agree.
pub(crate) fn age_ms(cell: &[u8]) -> u64 {
    let written = cell.last_chunk().map_or(0, |ms| u64::from_be_bytes(*ms));
    now_ms().saturating_sub(written)
}

/// The wall clock. It decides only when what a dead process left is swept up.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// The lanes of a driver that no commit uses now.
#[derive(Default)]
pub(crate) struct Lanes {
    idle: Mutex<Vec<Lane>>,
}

impl Lanes {
    pub(crate) fn take(&self) -> Lane {
        self.idle.lock().pop().unwrap_or_else(Lane::new)
    }

    pub(crate) fn give_back(&self, lane: Lane) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(lane);
        }
    }
}
