//! A driver wrapper that counts and times calls.
//!
//! The counters are plain atomics, so this crate needs no metrics library. Reads of a key and steps of a
//! scan are counted in the snapshot and added when it (or its cursor) is dropped: reading the clock for
//! each would cost as much as the read itself.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{
    Batch, Committed, Cursor, Direction, Driver, DriverExtension, KeyRange, Precondition, Prefetch,
    Purpose, Result, Snapshot, Version, WriteBody, forward_driver,
};

/// A kind of counted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// [`Driver::snapshot`] and its variants; the time to create the snapshot.
    Snapshot,
    /// [`Snapshot::get`]; counted, not timed.
    Get,
    /// [`Snapshot::scan`]; the time to open the scan.
    Scan,
    /// A key returned by a scan; counted, not timed.
    Step,
    /// [`Driver::commit`].
    Commit,
    /// [`Driver::write`], including the fill function.
    Write,
    /// [`Driver::flush`].
    Flush,
}

impl Call {
    /// Every kind, in the order of [`Meter::readings`].
    pub const ALL: [Self; 7] = [
        Self::Snapshot,
        Self::Get,
        Self::Scan,
        Self::Step,
        Self::Commit,
        Self::Write,
        Self::Flush,
    ];

    /// The name, also used in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Get => "get",
            Self::Scan => "scan",
            Self::Step => "step",
            Self::Commit => "commit",
            Self::Write => "write",
            Self::Flush => "flush",
        }
    }
}

/// The statistics of one kind of call since the driver was wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The kind of call.
    pub call: Call,
    /// Number of calls.
    pub count: u64,
    /// Number of calls that returned an error.
    pub errors: u64,
    /// Total time of all calls.
    pub total: Duration,
    /// Time of the slowest call.
    pub slowest: Duration,
}

/// The counters, shared between a [`Metered`] driver and their readers.
#[derive(Debug, Default)]
pub struct Meter {
    tallies: [Tally; Call::ALL.len()],
}

#[derive(Debug, Default)]
struct Tally {
    count: AtomicU64,
    errors: AtomicU64,
    total_ns: AtomicU64,
    slowest_ns: AtomicU64,
}

impl Meter {
    /// Returns the current statistics, one reading for each kind of call.
    pub fn readings(&self) -> [Reading; Call::ALL.len()] {
        Call::ALL.map(|call| {
            let tally = self.tally(call);
            Reading {
                call,
                count: tally.count.load(Ordering::Relaxed),
                errors: tally.errors.load(Ordering::Relaxed),
                total: Duration::from_nanos(tally.total_ns.load(Ordering::Relaxed)),
                slowest: Duration::from_nanos(tally.slowest_ns.load(Ordering::Relaxed)),
            }
        })
    }

    fn tally(&self, call: Call) -> &Tally {
        &self.tallies[call as usize]
    }

    fn count(&self, call: Call, count: u64) {
        self.tally(call).count.fetch_add(count, Ordering::Relaxed);
    }

    fn time<T>(&self, call: Call, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = run();
        let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let tally = self.tally(call);
        tally.count.fetch_add(1, Ordering::Relaxed);
        tally.total_ns.fetch_add(elapsed_ns, Ordering::Relaxed);
        tally.slowest_ns.fetch_max(elapsed_ns, Ordering::Relaxed);
        tally
            .errors
            .fetch_add(u64::from(result.is_err()), Ordering::Relaxed);
        result
    }
}

/// A driver wrapper that counts and times calls in a [`Meter`].
pub struct Metered {
    inner: Arc<dyn Driver>,
    meter: Arc<Meter>,
}

impl Metered {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self {
            inner,
            meter: Arc::default(),
        }
    }

    /// Returns the counters.
    pub fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    fn metered(
        &self,
        take: impl FnOnce() -> Result<Box<dyn Snapshot + Send>>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(MeteredSnapshot {
            inner: self.meter.time(Call::Snapshot, take)?,
            meter: Arc::clone(&self.meter),
            gets: Cell::new(0),
        }))
    }
}

impl Driver for Metered {
    forward_driver!(name, capability, watch, usage, check => self.inner);

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        self.metered(|| self.inner.snapshot())
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        self.meter.time(Call::Commit, || self.inner.commit(batch))
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        self.meter
            .time(Call::Write, || self.inner.write(preconditions, fill))
    }

    fn flush(&self) -> Result<()> {
        self.meter.time(Call::Flush, || self.inner.flush())
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl DriverExtension for Metered {
    forward_driver!(is_current, catch_up, cache_status, tombstones_passed, flush_all, set_lens => self.inner);

    fn snapshot_for(
        &self,
        purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        self.metered(|| self.inner.snapshot_for(purpose, expect))
    }
}

struct MeteredSnapshot {
    inner: Box<dyn Snapshot + Send>,
    meter: Arc<Meter>,
    gets: Cell<u64>,
}

impl Snapshot for MeteredSnapshot {
    fn version(&self) -> Version {
        self.inner.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.gets.set(self.gets.get() + 1);
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        self.gets.set(self.gets.get() + keys.len() as u64);
        self.inner.get_many(keys)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        let inner = self
            .meter
            .time(Call::Scan, || self.inner.scan(range, direction))?;
        Ok(Box::new(MeteredCursor {
            inner,
            meter: &self.meter,
            steps: 0,
        }))
    }
}

impl Drop for MeteredSnapshot {
    fn drop(&mut self) {
        self.meter.count(Call::Get, self.gets.get());
    }
}

struct MeteredCursor<'a> {
    inner: Box<dyn Cursor + 'a>,
    meter: &'a Meter,
    steps: u64,
}

impl Cursor for MeteredCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let next = self.inner.next()?;
        self.steps += u64::from(next.is_some());
        Ok(next)
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.inner.seek(key)
    }
}

impl Drop for MeteredCursor<'_> {
    fn drop(&mut self) {
        self.meter.count(Call::Step, self.steps);
    }
}
