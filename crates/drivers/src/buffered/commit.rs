//! From what `fill` writes to one commit.

use std::time::{Duration, Instant};

use espalier_keyspace::{
    Batch, Error, ErrorKind, Fill, Operation, Precondition, Result, Snapshot, Version,
};

use super::buffer::Buffer;
use super::reads::Reads;

/// How long a write that scanned looks again whether what it scanned is still so, while others
/// commit at every moment.
const AGAIN: Duration = Duration::from_secs(20);

/// What the engine has to do.
pub(crate) struct Engine<'a> {
    /// Shows the newest state.
    pub(crate) snapshot: &'a dyn Fn() -> Result<Box<dyn Snapshot + Send>>,
    /// Applies a batch; where a version is given, only if it is still the newest, and else refuses
    /// with a conflict that has no key.
    #[allow(clippy::type_complexity)]
    pub(crate) commit: &'a dyn Fn(&Batch, Option<Version>) -> Result<Version>,
}

/// Tests the preconditions on the newest state, takes what `fill` writes over it, and applies that if
/// all that it was told of that state is still so.
pub(crate) fn write(
    engine: &Engine<'_>,
    preconditions: &[Precondition],
    fill: Fill<'_>,
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
    let (operations, mut reads, seen) = buffer.finish();
    let batch = batch(preconditions, operations, &mut reads);
    batch.check_limits()?;
    commit(engine, &batch, &reads, seen)
}

fn batch(preconditions: &[Precondition], operations: Vec<Operation>, reads: &mut Reads) -> Batch {
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

fn commit(engine: &Engine<'_>, batch: &Batch, reads: &Reads, seen: Version) -> Result<Version> {
    let deadline = Instant::now() + AGAIN;
    let mut unchanged_since = reads.need_looking().then_some(seen);
    loop {
        let error = match (engine.commit)(batch, unchanged_since) {
            Err(error) if unchanged_since.is_some() && is_of_no_key(&error) => error,
            result => return result,
        };
        if Instant::now() >= deadline {
            return Err(error);
        }
        let newest = (engine.snapshot)()?;
        reads.look_again(&*newest)?;
        unchanged_since = Some(newest.version());
    }
}

/// Whether others committed, and nobody knows yet whether that matters.
fn is_of_no_key(error: &Error) -> bool {
    error.kind() == ErrorKind::Conflict && error.key().is_none()
}
