//! A driver wrapper that rejects changes.

use std::sync::Arc;

use crate::{
    Batch, CacheStatus, Capability, Committed, Driver, Error, ErrorKind, Finding, KeyRange,
    Precondition, Prefetch, Result, Snapshot, Usage, Version, Watch, WriteBody,
};

/// A driver wrapper that rejects every change with [`ErrorKind::ReadOnly`].
pub struct ReadOnly {
    inner: Arc<dyn Driver>,
    reason: &'static str,
}

impl ReadOnly {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self::with_reason(inner, "the key space was opened read-only")
    }

    /// Wraps `inner`, with `reason` as the error message.
    pub fn with_reason(inner: Arc<dyn Driver>, reason: &'static str) -> Self {
        Self { inner, reason }
    }

    fn refusal(&self) -> Error {
        Error::new(ErrorKind::ReadOnly, self.reason)
    }
}

impl Driver for ReadOnly {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        self.inner.snapshot()
    }

    fn snapshot_with_prefetch(&self, expect: Prefetch<'_>) -> Result<Box<dyn Snapshot + Send>> {
        self.inner.snapshot_with_prefetch(expect)
    }

    fn commit_with_step(&self, _batch: Batch) -> Result<Committed> {
        Err(self.refusal())
    }

    fn write(&self, _preconditions: &[Precondition], _fill: WriteBody<'_>) -> Result<Version> {
        Err(self.refusal())
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        self.inner.watch(range, after)
    }

    fn usage(&self) -> Result<Usage> {
        self.inner.usage()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        self.inner.check()
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    fn is_current(&self, seen: Version) -> Result<bool> {
        self.inner.is_current(seen)
    }

    fn catch_up(&self) -> Result<()> {
        self.inner.catch_up()
    }

    fn cache_status(&self) -> CacheStatus {
        self.inner.cache_status()
    }
}
