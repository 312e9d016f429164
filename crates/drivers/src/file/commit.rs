//! Applies batches and writes to a clone of the in-memory map and to the journal, which is flushed before
//! the clone becomes the newest state.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, Committed, Error, ErrorKind, Precondition, Result, Version, WriteBody,
};

use super::engine::{Engine, Log, Pending, compact_when_due};
use crate::group_commit::{self, Abort, GroupCommit, Recovery, TransactionBody};
use crate::memory::MapWriter;
use crate::recent_commits::Effect;
use crate::streamed_write;

/// Applies a batch, grouped with concurrent commits of other threads.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Committed> {
    group_commit::commit(engine, &engine.queue, batch)
}

/// Applies what `fill` writes.
pub(super) fn write(
    engine: &Arc<Engine>,
    preconditions: &[Precondition],
    fill: WriteBody<'_>,
) -> Result<Version> {
    preconditions
        .iter()
        .try_for_each(Precondition::check_limits)?;
    engine.queue.lead(|| {
        let filled = run_transaction(engine, |writer| {
            streamed_write::run(writer, preconditions, fill)
        });
        filled.map_err(|abort| group_commit::error_of(engine, abort))
    })
}

impl GroupCommit for Arc<Engine> {
    type Failure = Error;

    fn run_transaction(
        &self,
        fill: TransactionBody<'_, Error>,
    ) -> std::result::Result<Version, Abort<Error>> {
        run_transaction(self, |writer| fill(writer))
    }

    fn recovery(&self, failure: Error, batches: usize) -> Recovery {
        match batches {
            0 | 1 => Recovery::GiveUp(failure),
            _ => Recovery::RetryOneByOne,
        }
    }

    fn failed(&self, failure: Error) -> Error {
        failure
    }

    fn unknown(&self, failure: Error) -> Error {
        Error::new(
            ErrorKind::OutcomeUnknown,
            "the disk failed while flushing a commit; the commit may be present or absent when the \
             directory is reopened",
        )
        .with_source(failure)
    }
}

type Outcome<T> = std::result::Result<T, Abort<Error>>;

/// Runs `fill` on a clone of the map and the end of the journal, and makes both the newest state.
fn run_transaction(
    engine: &Arc<Engine>,
    fill: impl FnOnce(&mut MapWriter<Pending<'_>>) -> Outcome<()>,
) -> Outcome<Version> {
    let mut log = engine.log.lock();
    let version = run_transaction_locked(engine, &mut log, fill)?;
    drop(log);
    compact_when_due(engine);
    Ok(version)
}

fn run_transaction_locked(
    engine: &Engine,
    log: &mut Log,
    fill: impl FnOnce(&mut MapWriter<Pending<'_>>) -> Outcome<()>,
) -> Outcome<Version> {
    let state = engine.in_memory.newest.get();
    let before = state.version;
    let pending = log.journal.begin().map_err(Abort::NotBegun)?;
    let mut writer = MapWriter::new(state, pending);
    fill(&mut writer)?;
    if writer.recorder.effect() == Effect::Nothing {
        return Ok(before);
    }
    let (state, recorder, pending) = writer.finish();
    let version = state.version;
    engine.check_not_replaced().map_err(Abort::NotBegun)?;
    pending.commit(version, engine.config.durability)?;
    engine.in_memory.publish(state, recorder);
    Ok(version)
}
