//! A wrapper for drivers that injects faults.
//!
//! A [`Fault`] names kinds of calls, how many of them succeed first, and whether one call or all further
//! calls fail. The error is returned *before* the inner driver is called, except for [`Site::AfterCommit`]:
//! there the inner driver has committed and the response is lost, which callers must not mistake for a
//! failed commit.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Capability, Committed, Cursor, Direction, Driver, DriverExtension, Error, ErrorKind,
    KeyExisted, KeyRange, Precondition, Prefetch, Purpose, Result, Snapshot, Version, Watch,
    WatchEvent, WriteBody, Writer, forward_driver,
};
use parking_lot::Mutex;

/// A kind of call that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// [`Driver::snapshot`].
    Snapshot,
    /// [`Snapshot::get`].
    Get,
    /// [`Snapshot::scan`] and [`Cursor::seek`].
    Scan,
    /// [`Cursor::next`].
    Step,
    /// [`Driver::commit`] and [`Driver::write`], before they are executed.
    Commit,
    /// [`Driver::commit`] and [`Driver::write`], after they were executed.
    AfterCommit,
    /// Any call to a [`Writer`].
    Write,
    /// [`Driver::watch`] and [`Watch::next`].
    Watch,
    /// [`Driver::flush`].
    Flush,
}

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// One call fails, the next succeeds.
    Once,
    /// Every call fails from then on.
    ForEver,
}

/// A fault to inject.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The kinds of calls that are counted and fail.
    pub sites: Vec<Site>,
    /// How many calls succeed first.
    pub after: u64,
    /// Whether one call or all further calls fail.
    pub lasting: Lasting,
    /// The kind of the error.
    pub kind: ErrorKind,
}

/// A driver that injects faults.
pub struct Faulty {
    inner: Arc<dyn Driver>,
    state: Arc<FaultState>,
    /// Replaces the capability of `inner`.
    capability: Option<Capability>,
    /// How long a commit takes at least.
    commit_time: Duration,
}

#[derive(Default)]
struct FaultState {
    armed: Mutex<Option<Armed>>,
    /// The number of commits.
    commits: AtomicU64,
}

struct Armed {
    fault: Fault,
    calls: u64,
}

impl Faulty {
    /// A driver that behaves like `inner` until it is [armed](Self::arm).
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self {
            inner,
            state: Arc::default(),
            capability: None,
            commit_time: Duration::ZERO,
        }
    }

    /// Replaces the reported capability.
    pub fn with_capability(self, capability: Capability) -> Self {
        Self {
            capability: Some(capability),
            ..self
        }
    }

    /// Makes commits slow, as on a disk.
    pub fn with_commit_time(self, commit_time: Duration) -> Self {
        Self {
            commit_time,
            ..self
        }
    }

    /// The number of commits so far, without writes.
    pub fn commits(&self) -> u64 {
        self.state.commits.load(Ordering::Relaxed)
    }

    /// Arms a fault; replaces the previous one.
    pub fn arm(&self, fault: Fault) {
        *self.state.armed.lock() = Some(Armed { fault, calls: 0 });
    }

    /// Disarms the fault; returns how many calls it has counted.
    pub fn disarm(&self) -> u64 {
        let armed = self.state.armed.lock().take();
        armed.map_or(0, |armed| armed.calls)
    }

    /// A snapshot that can fail, as can its creation.
    fn faulty_snapshot(
        &self,
        create: impl FnOnce(&dyn Driver) -> Result<Box<dyn Snapshot + Send>>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        self.state.count_call(Site::Snapshot)?;
        Ok(Box::new(FaultySnapshot {
            inner: create(&*self.inner)?,
            state: Arc::clone(&self.state),
        }))
    }
}

impl FaultState {
    /// Counts a call, and returns an error if the fault applies.
    fn count_call(&self, site: Site) -> Result<()> {
        let mut armed = self.armed.lock();
        let Some(Armed { fault, calls }) = armed.as_mut() else {
            return Ok(());
        };
        if !fault.sites.contains(&site) {
            return Ok(());
        }
        *calls += 1;
        let fails = match fault.lasting {
            Lasting::Once => *calls == fault.after + 1,
            Lasting::ForEver => *calls > fault.after,
        };
        if fails {
            let message = format!("an injected fault at {site:?}, call {calls}");
            return Err(Error::new(fault.kind, message));
        }
        Ok(())
    }
}

impl Driver for Faulty {
    forward_driver!(name, usage, check => self.inner);

    fn capability(&self) -> Capability {
        self.capability.unwrap_or_else(|| self.inner.capability())
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        self.faulty_snapshot(|inner| inner.snapshot())
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        self.state.count_call(Site::Commit)?;
        self.state.commits.fetch_add(1, Ordering::Relaxed);
        thread::sleep(self.commit_time);
        let committed = self.inner.commit(batch)?;
        self.state.count_call(Site::AfterCommit)?;
        Ok(committed)
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        self.state.count_call(Site::Commit)?;
        let state = &self.state;
        let version = self.inner.write(preconditions, &mut |inner| {
            fill(&mut FaultyWriter { inner, state })
        })?;
        self.state.count_call(Site::AfterCommit)?;
        Ok(version)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        self.state.count_call(Site::Watch)?;
        Ok(Box::new(FaultyWatch {
            inner: self.inner.watch(range, after)?,
            state: Arc::clone(&self.state),
        }))
    }

    fn flush(&self) -> Result<()> {
        self.state.count_call(Site::Flush)?;
        self.inner.flush()
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl DriverExtension for Faulty {
    forward_driver!(is_current, catch_up, cache_status, tombstones_passed, flush_all, set_lens => self.inner);

    fn snapshot_for(
        &self,
        purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        self.faulty_snapshot(|inner| inner.snapshot_for(purpose, expect))
    }
}

struct FaultyWatch {
    inner: Box<dyn Watch>,
    state: Arc<FaultState>,
}

impl Watch for FaultyWatch {
    fn next(&mut self, timeout: Duration) -> Result<Option<WatchEvent>> {
        self.state.count_call(Site::Watch)?;
        self.inner.next(timeout)
    }
}

struct FaultySnapshot<S> {
    inner: S,
    state: Arc<FaultState>,
}

impl<S: Deref<Target: Snapshot>> Snapshot for FaultySnapshot<S> {
    fn version(&self) -> Version {
        self.inner.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.state.count_call(Site::Get)?;
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        self.state.count_call(Site::Get)?;
        self.inner.get_many(keys)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.state.count_call(Site::Scan)?;
        Ok(Box::new(FaultyCursor {
            inner: self.inner.scan(range, direction)?,
            state: &self.state,
        }))
    }
}

struct FaultyCursor<'a> {
    inner: Box<dyn Cursor + 'a>,
    state: &'a FaultState,
}

impl Cursor for FaultyCursor<'_> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.state.count_call(Site::Step)?;
        self.inner.next()
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.state.count_call(Site::Scan)?;
        self.inner.seek(key)
    }
}

struct FaultyWriter<'a> {
    inner: &'a mut dyn Writer,
    state: &'a Arc<FaultState>,
}

impl Writer for FaultyWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.state.count_call(Site::Write)?;
        self.inner.put(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<KeyExisted> {
        self.state.count_call(Site::Write)?;
        self.inner.put_new(key, value)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.state.count_call(Site::Write)?;
        self.inner.get(key)
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        self.state.count_call(Site::Write)?;
        Ok(Box::new(FaultySnapshot {
            inner: self.inner.snapshot()?,
            state: Arc::clone(self.state),
        }))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.state.count_call(Site::Write)?;
        self.inner.delete(key)
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.state.count_call(Site::Write)?;
        self.inner.delete_range(range)
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        self.state.count_call(Site::Write)?;
        self.inner.add(key, delta)
    }
}
