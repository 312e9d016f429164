//! A driver wrapper that rejects changes.

use std::sync::Arc;

use crate::{
    Batch, Capability, Committed, Driver, Error, ErrorKind, Expect, Fill, Finding, KeyRange,
    Precondition, Residence, Result, Snapshot, Usage, Version, Watch,
};

/// A driver wrapper that rejects every change with [`ErrorKind::ReadOnly`].
pub struct ReadOnly {
    inner: Arc<dyn Driver>,
    reason: &'static str,
}

impl ReadOnly {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self::because(inner, "the key space was opened read-only")
    }

    /// Wraps `inner`, with `reason` as the error message.
    pub fn because(inner: Arc<dyn Driver>, reason: &'static str) -> Self {
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

    fn snapshot_expecting(&self, expect: Expect<'_>) -> Result<Box<dyn Snapshot + Send>> {
        self.inner.snapshot_expecting(expect)
    }

    fn commit_step(&self, _batch: Batch) -> Result<Committed> {
        Err(self.refusal())
    }

    fn write(&self, _preconditions: &[Precondition], _fill: Fill<'_>) -> Result<Version> {
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

    fn residence(&self) -> Residence {
        self.inner.residence()
    }
}
