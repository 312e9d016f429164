//! A driver that records the calls to another driver, so that they can be replayed on the raw engine.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use espalier_keyspace::{
    Batch, Committed, Cursor, Direction, Driver, DriverExtension, KeyRange, Operation,
    OperationRef, Prefetch, Purpose, Result, Snapshot, Version, forward_driver,
};

use espalier_terminal::Result as Outcome;

/// The reads and writes of one operation of the store.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The reads, in order.
    pub reads: Vec<ReadStep>,
    /// The writes: the operations of each commit.
    pub commits: Vec<Vec<Operation>>,
}

impl Trace {
    /// Returns whether the operation made no reads and no commits.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.commits.is_empty()
    }
}

/// One read.
#[derive(Clone, Debug)]
pub enum ReadStep {
    /// A key.
    Get(Vec<u8>),
    /// Several keys in one call.
    GetMany(Vec<Vec<u8>>),
    /// A range, of which this many keys were read.
    Scan(KeyRange, Direction, usize),
}

/// Records the calls to `inner` between `start` and `stop`.
pub struct Recorder {
    inner: Arc<dyn Driver>,
    is_recording: AtomicBool,
    trace: Arc<Mutex<Trace>>,
}

impl Recorder {
    /// Creates a recorder that does not record yet.
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self {
            inner,
            is_recording: AtomicBool::new(false),
            trace: Arc::default(),
        }
    }

    /// Runs an operation and returns its trace.
    pub fn record(&self, operation: impl FnOnce() -> Outcome<()>) -> Outcome<Trace> {
        self.start();
        let result = operation();
        let trace = self.stop();
        result.map(|()| trace)
    }

    /// Wraps a snapshot to record its reads, if recording is on.
    fn recording_snapshot(&self, inner: Box<dyn Snapshot + Send>) -> Box<dyn Snapshot + Send> {
        if !self.is_recording.load(Ordering::Relaxed) {
            return inner;
        }
        let trace = Arc::clone(&self.trace);
        Box::new(RecordingSnapshot { inner, trace })
    }

    /// Starts recording, with an empty trace.
    pub fn start(&self) {
        *lock(&self.trace) = Trace::default();
        self.is_recording.store(true, Ordering::Relaxed);
    }

    /// Stops recording and returns the trace.
    pub fn stop(&self) -> Trace {
        self.is_recording.store(false, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.trace))
    }
}

/// Ignores poisoning: the list in the mutex is consistent at any time.
fn lock(trace: &Mutex<Trace>) -> MutexGuard<'_, Trace> {
    trace.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owned(operation: OperationRef<'_>) -> Operation {
    match operation {
        OperationRef::Put(key, value) => Operation::Put {
            key: key.to_vec(),
            value: value.to_vec(),
        },
        OperationRef::Delete(key) => Operation::Delete { key: key.to_vec() },
        OperationRef::DeleteRange(range) => Operation::DeleteRange(range.clone()),
        OperationRef::Add(key, delta) => Operation::Add {
            key: key.to_vec(),
            delta,
        },
    }
}

impl Driver for Recorder {
    forward_driver!(name, capability, write, watch, usage, check, flush => self.inner);

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(self.recording_snapshot(self.inner.snapshot()?))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        if self.is_recording.load(Ordering::Relaxed) {
            let operations = batch.operations().map(owned).collect();
            lock(&self.trace).commits.push(operations);
        }
        self.inner.commit(batch)
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl DriverExtension for Recorder {
    forward_driver!(is_current, catch_up, cache_status, tombstones_passed, flush_all, set_lens => self.inner);

    fn snapshot_for(
        &self,
        purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        Ok(self.recording_snapshot(self.inner.snapshot_for(purpose, expect)?))
    }
}

struct RecordingSnapshot {
    inner: Box<dyn Snapshot + Send>,
    trace: Arc<Mutex<Trace>>,
}

impl Snapshot for RecordingSnapshot {
    fn version(&self) -> Version {
        self.inner.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        lock(&self.trace).reads.push(ReadStep::Get(key.to_vec()));
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let recorded = keys.iter().map(|key| key.to_vec()).collect();
        lock(&self.trace).reads.push(ReadStep::GetMany(recorded));
        self.inner.get_many(keys)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(RecordingCursor {
            inner: self.inner.scan(range, direction)?,
            range: range.clone(),
            direction,
            taken: 0,
            trace: &self.trace,
        }))
    }
}

struct RecordingCursor<'a> {
    inner: Box<dyn Cursor + 'a>,
    range: KeyRange,
    direction: Direction,
    taken: usize,
    trace: &'a Mutex<Trace>,
}

impl RecordingCursor<'_> {
    fn record_scan(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        let step = ReadStep::Scan(self.range.clone(), self.direction, taken);
        lock(self.trace).reads.push(step);
    }
}

impl Cursor for RecordingCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.taken += 1;
        self.inner.next()
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.record_scan();
        match self.direction {
            Direction::Forward => self.range.start = key.to_vec(),
            Direction::Backward => {
                let mut end = key.to_vec();
                end.push(0);
                self.range.end = Some(end);
            }
        }
        self.inner.seek(key)
    }
}

impl Drop for RecordingCursor<'_> {
    fn drop(&mut self) {
        self.record_scan();
    }
}
