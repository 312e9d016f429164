//! A driver wrapper that rejects changes.

use std::sync::Arc;

use crate::{
    Batch, Committed, Driver, DriverExtension, Error, ErrorKind, Precondition, Result, Version,
    WriteBody, forward_driver,
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
    forward_driver!(name, capability, snapshot, watch, usage, check, flush => self.inner);

    fn commit(&self, _batch: Batch) -> Result<Committed> {
        Err(self.refusal())
    }

    fn write(&self, _preconditions: &[Precondition], _fill: WriteBody<'_>) -> Result<Version> {
        Err(self.refusal())
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

// The lens is not passed on: a driver may write documents when it gets one.
impl DriverExtension for ReadOnly {
    forward_driver!(snapshot_for, is_current, catch_up, cache_status => self.inner);
}
