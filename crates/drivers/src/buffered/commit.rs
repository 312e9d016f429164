//! Turns a streamed write into one commit.

use std::time::{Duration, Instant};

use espalier_keyspace::{
    Batch, Error, ErrorKind, Operation, Precondition, Result, Snapshot, Version, WriteBody,
};

use super::buffer::Buffer;
use super::read_set::ReadSet;

/// How long a write with scans is validated again, while other writers keep committing.
const VALIDATION_TIMEOUT: Duration = Duration::from_secs(20);

/// The operations of the engine that a streamed write needs.
pub(crate) struct Engine<'a> {
    /// Returns a snapshot of the newest state.
    pub(crate) snapshot: &'a dyn Fn() -> Result<Box<dyn Snapshot + Send>>,
    /// Applies a batch. With a version, only if that is still the newest; otherwise fails with a conflict
    /// without a key.
    #[allow(clippy::type_complexity)]
    pub(crate) commit: &'a dyn Fn(&Batch, Option<Version>) -> Result<Version>,
}

/// Tests the preconditions on the newest state, runs `fill` over it, and commits the result if everything
/// that it read is unchanged.
pub(crate) fn write(
    engine: &Engine<'_>,
    preconditions: &[Precondition],
    fill: WriteBody<'_>,
) -> Result<Version> {
    let base = (engine.snapshot)()?;
    for condition in preconditions {
        condition.check_limits()?;
        if base.get(&condition.key)?.as_deref() != condition.value.as_deref() {
            return Err(Error::conflict(&condition.key));
        }
    }
    let mut buffer = Buffer::over(base);
    fill(&mut buffer)?;
    let (operations, mut reads, base_version) = buffer.finish();
    let batch = batch(preconditions, operations, &mut reads);
    batch.check_limits()?;
    commit(engine, &batch, &reads, base_version)
}

// The version alone would reject a load whenever anything else is committed: docs/decisions/0008.
fn batch(preconditions: &[Precondition], operations: Vec<Operation>, reads: &mut ReadSet) -> Batch {
    let mut batch = Batch::new();
    for condition in preconditions {
        batch.require(condition.key.clone(), condition.value.clone());
    }
    for (key, value) in reads.take_guards() {
        batch.require(key, value);
    }
    for operation in operations {
        batch.push(operation);
    }
    batch
}

fn commit(
    engine: &Engine<'_>,
    batch: &Batch,
    reads: &ReadSet,
    base_version: Version,
) -> Result<Version> {
    let deadline = Instant::now() + VALIDATION_TIMEOUT;
    let mut unchanged_since = reads.needs_validation().then_some(base_version);
    loop {
        let error = match (engine.commit)(batch, unchanged_since) {
            Err(error) if unchanged_since.is_some() && is_version_conflict(&error) => error,
            result => return result,
        };
        if Instant::now() >= deadline {
            return Err(error);
        }
        let newest = (engine.snapshot)()?;
        reads.validate(&*newest)?;
        unchanged_since = Some(newest.version());
    }
}

/// Whether another commit came first, which may or may not affect this write.
fn is_version_conflict(error: &Error) -> bool {
    error.kind() == ErrorKind::Conflict && error.key().is_none()
}
