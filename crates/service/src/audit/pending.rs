//! The queue of records that are not committed yet.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::group::{Earlier, GROUP_BYTES_MAX, Row};

/// How long a record waits in the queue before its commit begins.
pub const AUDIT_DELAY_MAX: Duration = Duration::from_millis(200);

/// Maximum number of records in the queue.
pub const QUEUE_RECORDS_MAX: usize = 65_536;

/// Maximum bytes of rows in the queue.
pub const QUEUE_BYTES_MAX: usize = 32 << 20;

/// How long an append waits for a place in a full queue while the engine works. If the engine fails, it does
/// not wait. Then the record is lost.
pub const QUEUE_WAIT_MAX: Duration = Duration::from_secs(5);

/// How long records of a failed commit are kept for another try. Then they are lost.
pub const AUDIT_RETRY_MAX: Duration = Duration::from_secs(60);

/// The wait between two tries of a failed commit.
const RETRY_WAIT: Duration = Duration::from_millis(500);

/// The queue.
pub(super) struct PendingQueue {
    state: Mutex<PendingState>,
    /// Wakes the thread that commits.
    work: Condvar,
    /// Wakes appends that wait for a place.
    room: Condvar,
}

#[derive(Default)]
struct PendingState {
    rows: VecDeque<Row>,
    bytes: usize,
    is_closed: bool,
    /// When the next commit begins; `None` while the queue is empty.
    commit_at: Option<Instant>,
    /// Since when commits fail.
    failing_since: Option<Instant>,
    /// The size of the first group, if it is unknown whether it was committed: it is retried unchanged.
    unknown: Option<usize>,
    /// The number of rows that ever entered.
    pushed: u64,
    /// The number of rows that left, committed or lost.
    finished: u64,
    is_maintenance_due: bool,
}

/// The result of [`PendingQueue::push`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Queued,
    Full,
    Closed,
}

/// Rows to commit together, taken from the head of the queue.
pub(super) struct Group {
    pub(super) rows: Vec<Row>,
    pub(super) earlier: Earlier,
}

/// What the thread that commits has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Commit the queue.
    Commit,
    /// Refresh the settings and delete old records.
    Maintain,
    /// Commit the queue once more, and end.
    Close,
}

impl PendingState {
    fn is_full(&self) -> bool {
        self.rows.len() >= QUEUE_RECORDS_MAX || self.bytes >= QUEUE_BYTES_MAX
    }

    /// Whether a commit should not wait for more records.
    fn is_filling(&self) -> bool {
        self.rows.len() >= QUEUE_RECORDS_MAX / 4 || self.bytes >= QUEUE_BYTES_MAX / 4
    }
}

impl PendingQueue {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            work: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Adds a row. If the queue is full, waits for at most [`QUEUE_WAIT_MAX`], unless the engine fails.
    pub(super) fn push(&self, row: Row) -> Pushed {
        let mut state = self.state.lock();
        let deadline = Instant::now() + QUEUE_WAIT_MAX;
        while state.is_full() && !state.is_closed {
            let is_failing = state.failing_since.is_some();
            if is_failing || self.room.wait_until(&mut state, deadline).timed_out() {
                return Pushed::Full;
            }
        }
        if state.is_closed {
            return Pushed::Closed;
        }
        state.bytes += row.bytes();
        state.rows.push_back(row);
        state.pushed += 1;
        if state.commit_at.is_none() {
            state.commit_at = Some(Instant::now() + AUDIT_DELAY_MAX);
            self.work.notify_one();
        } else if state.is_filling() {
            self.work.notify_one();
        }
        Pushed::Queued
    }

    /// The number of rows that entered so far.
    pub(super) fn pushed(&self) -> u64 {
        self.state.lock().pushed
    }

    /// Whether rows that entered before the `target`th one are still in the queue.
    pub(super) fn has_before(&self, target: u64) -> bool {
        self.state.lock().finished < target
    }

    /// Takes the next rows to commit. Called by one thread at a time.
    pub(super) fn take_group(&self, records_max: usize) -> Group {
        let mut state = self.state.lock();
        if let Some(size) = state.unknown {
            let rows = state.rows.drain(..size).collect();
            let earlier = Earlier::Unknown;
            return Group { rows, earlier };
        }
        let mut bytes = 0;
        let fits = |row: &&Row| {
            bytes += row.bytes();
            bytes <= GROUP_BYTES_MAX
        };
        let size = state.rows.iter().take(records_max).take_while(fits).count();
        let size = size.max(1).min(state.rows.len());
        Group {
            rows: state.rows.drain(..size).collect(),
            earlier: Earlier::NotApplied,
        }
    }

    /// Ends a group that was committed.
    pub(super) fn finish(&self, rows: &[Row]) {
        let mut state = self.state.lock();
        state.failing_since = None;
        self.leave(&mut state, rows);
    }

    /// Ends a group that is lost.
    pub(super) fn lose(&self, rows: &[Row]) {
        self.leave(&mut self.state.lock(), rows);
    }

    fn leave(&self, state: &mut PendingState, rows: &[Row]) {
        state.unknown = None;
        state.bytes -= rows.iter().map(Row::bytes).sum::<usize>();
        state.finished += rows.len() as u64;
        let has_rows = !state.rows.is_empty();
        state.commit_at = has_rows.then(|| Instant::now() + AUDIT_DELAY_MAX);
        self.room.notify_all();
    }

    /// Since when commits fail.
    pub(super) fn failing_since(&self) -> Option<Instant> {
        self.state.lock().failing_since
    }

    /// Puts the rows of a failed commit back.
    pub(super) fn give_back(&self, group: Group) {
        let mut state = self.state.lock();
        state.unknown = (group.earlier == Earlier::Unknown).then_some(group.rows.len());
        for row in group.rows.into_iter().rev() {
            state.rows.push_front(row);
        }
        let now = Instant::now();
        state.failing_since.get_or_insert(now);
        state.commit_at = Some(now + RETRY_WAIT);
        // Appends that wait for a place are rejected while the engine fails.
        self.room.notify_all();
    }

    /// Waits for work, at most until `maintenance`.
    pub(super) fn wait_for_work(&self, maintenance: Instant) -> Work {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return Work::Close;
            }
            let now = Instant::now();
            let is_due = state.commit_at.is_some_and(|at| now >= at);
            if is_due || (state.is_filling() && state.failing_since.is_none()) {
                return Work::Commit;
            }
            if state.is_maintenance_due || now >= maintenance {
                state.is_maintenance_due = false;
                return Work::Maintain;
            }
            let until = state
                .commit_at
                .map_or(maintenance, |at| at.min(maintenance));
            self.work.wait_until(&mut state, until);
        }
    }

    /// Whether the queue rejects rows.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// Makes the thread delete old records soon.
    pub(super) fn request_maintenance(&self) {
        self.state.lock().is_maintenance_due = true;
        self.work.notify_one();
    }

    /// Rejects further rows, and ends the thread after the rows in the queue.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.work.notify_all();
        self.room.notify_all();
    }
}
