//! Applies batches and streamed writes, each in one SQLite write transaction.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Committed, Error, ErrorKind, KeyExisted, KeyRange, Lens, Precondition, Result, Snapshot,
    Version, WriteBody,
};
use rusqlite::Connection;

use super::engine::{Engine, Transaction, engine_error, fill_in, set_columns};
use super::snapshot::{UncommittedSnapshot, get};
use crate::group_commit::{self, Abort, GroupCommit, Recovery, TransactionBody, WriteTransaction};
use crate::readable_columns::columns;
use crate::recent_commits::{Effect, Recorder};
use crate::streamed_write::{self, StreamedWrite};

const DELETE_ALL: &str = "DELETE FROM entries";
const DELETE_FROM: &str = "DELETE FROM entries WHERE key >= ?1";
const DELETE_RANGE: &str = "DELETE FROM entries WHERE key >= ?1 AND key < ?2";

/// Applies a batch. Batches that other threads commit at the same time share the transaction.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Committed> {
    let committed = group_commit::commit(&**engine, &engine.queue, batch);
    committed.inspect_err(|error| {
        // Other errors are found before anything is written, so they leave nothing in the log.
        if matches!(error.kind(), ErrorKind::Full | ErrorKind::Engine) {
            engine.reclaim_log_space();
        }
    })
}

/// Applies the operations that `fill` writes.
pub(super) fn write(
    engine: &Arc<Engine>,
    preconditions: &[Precondition],
    fill: WriteBody<'_>,
) -> Result<Version> {
    preconditions
        .iter()
        .try_for_each(Precondition::check_limits)?;
    engine.queue.lead(|| {
        let filled = change(engine, |writer| {
            streamed_write::run(writer, preconditions, fill)
        });
        filled.map_err(|stop| {
            let error = group_commit::error_of(&**engine, stop);
            engine.reclaim_log_space();
            error
        })
    })
}

impl GroupCommit for Engine {
    type Failure = rusqlite::Error;

    fn run_transaction(
        &self,
        fill: TransactionBody<'_, rusqlite::Error>,
    ) -> std::result::Result<Version, Abort<rusqlite::Error>> {
        change(self, |writer| fill(writer))
    }

    fn recovery(&self, failure: rusqlite::Error, batches: usize) -> Recovery {
        match batches {
            0 | 1 => Recovery::GiveUp(self.failed(failure)),
            _ => Recovery::RetryOneByOne,
        }
    }

    fn failed(&self, failure: rusqlite::Error) -> Error {
        self.commit_error(failure)
    }

    fn unknown(&self, failure: rusqlite::Error) -> Error {
        Error::new(
            ErrorKind::OutcomeUnknown,
            "the disk failed while flushing a commit; the commit may or may not have been stored",
        )
        .with_source(failure)
    }
}

/// Classifies a failure of `COMMIT`. If only the flush failed, the log holds the whole commit, so its outcome is
/// unknown.
fn commit_failure(error: rusqlite::Error) -> Abort<rusqlite::Error> {
    let failed_flush =
        |error: &rusqlite::ffi::Error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC;
    match error.sqlite_error().is_some_and(failed_flush) {
        true => Abort::Unknown(error),
        false => Abort::Failed(error),
    }
}

/// Runs `fill` in a write transaction, commits it, and publishes it to the watchers.
fn change(
    engine: &Engine,
    fill: impl FnOnce(&mut SqliteWriter<'_>) -> std::result::Result<(), Abort<rusqlite::Error>>,
) -> std::result::Result<Version, Abort<rusqlite::Error>> {
    engine.check_writable().map_err(Abort::NotBegun)?;
    let mut connection = engine.writer.lock();
    let version = change_through(&connection, engine, fill)?;
    engine.checkpoint_if_long(&mut connection);
    Ok(version)
}

fn change_through(
    connection: &Connection,
    engine: &Engine,
    fill: impl FnOnce(&mut SqliteWriter<'_>) -> std::result::Result<(), Abort<rusqlite::Error>>,
) -> std::result::Result<Version, Abort<rusqlite::Error>> {
    let (transaction, before) = Transaction::begin_write(connection)?;
    engine.recent.push_foreign(before);
    let mut writer = SqliteWriter {
        transaction,
        before,
        engine,
        recorder: Recorder::new(),
        state: WriteState::Open,
        lens: engine.lens.read().clone(),
    };
    fill(&mut writer)?;
    if writer.state == WriteState::Failed {
        return Err(Abort::Refused(write_failed()));
    }
    let SqliteWriter {
        transaction,
        recorder,
        lens,
        ..
    } = writer;
    if recorder.effect() == Effect::Nothing {
        transaction.rollback()?;
        return Ok(before);
    }
    if let Some(lens) = lens {
        fill_in(&transaction, before, &*lens)?;
    }
    engine.check_not_replaced().map_err(Abort::NotBegun)?;
    let version = Version(before.0 + 1);
    let _publishing = engine.publishing.lock();
    transaction.commit(version).map_err(commit_failure)?;
    engine.recent.push(version, recorder);
    Ok(version)
}

/// Whether a write may continue. SQLite may roll back the transaction when an operation fails; later
/// operations would then be committed on their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteState {
    Open,
    Failed,
}

struct SqliteWriter<'e> {
    transaction: Transaction<'e>,
    before: Version,
    engine: &'e Engine,
    recorder: Recorder,
    state: WriteState,
    /// Computes the readable columns; `None` if the file has none or no lens is set.
    lens: Option<Arc<dyn Lens>>,
}

fn write_failed() -> Error {
    Error::new(
        ErrorKind::Aborted,
        "an earlier operation of this write failed",
    )
}

impl SqliteWriter<'_> {
    /// Stores the readable columns of a row, if the file has them and they can be computed already.
    fn set_columns(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        let Some(lens) = &self.lens else {
            return Ok(());
        };
        let state = UncommittedSnapshot {
            connection: self.transaction.connection(),
            before: self.before,
        };
        match columns(&**lens, &state, key, value) {
            Some(columns) => set_columns(&self.transaction, key, &columns),
            None => Ok(()),
        }
    }
}

impl WriteTransaction for SqliteWriter<'_> {
    type Failure = rusqlite::Error;

    fn value_of(&self, key: &[u8]) -> rusqlite::Result<Option<Cow<'_, [u8]>>> {
        Ok(get(self.transaction.connection(), key)?.map(Cow::Owned))
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        self.transaction.put(key, value)?;
        self.recorder.put(key, value);
        self.set_columns(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> rusqlite::Result<()> {
        if self.transaction.delete(key)? {
            self.recorder.delete(key);
        }
        Ok(())
    }

    fn remove_range(&mut self, range: &KeyRange) -> rusqlite::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let removed = match &range.end {
            Some(end) => self.transaction.run(DELETE_RANGE, [&range.start, end])?,
            None if range.start.is_empty() => self.transaction.run(DELETE_ALL, [])?,
            None => self.transaction.run(DELETE_FROM, [&range.start])?,
        };
        if removed > 0 {
            self.recorder.delete_range(range);
        }
        Ok(())
    }
}

impl StreamedWrite for SqliteWriter<'_> {
    fn set_new(&mut self, key: &[u8], value: &[u8]) -> rusqlite::Result<KeyExisted> {
        if !self.transaction.put_new(key, value)? {
            return Ok(KeyExisted::Yes);
        }
        self.recorder.put(key, value);
        self.set_columns(key, value)?;
        Ok(KeyExisted::No)
    }

    fn view(&self) -> Box<dyn Snapshot + '_> {
        Box::new(UncommittedSnapshot {
            connection: self.transaction.connection(),
            before: self.before,
        })
    }

    fn check_usable(&self) -> Result<()> {
        match self.state {
            WriteState::Open => Ok(()),
            WriteState::Failed => Err(write_failed()),
        }
    }

    fn read_error(&self, error: rusqlite::Error) -> Error {
        engine_error(error)
    }

    fn write_error(&mut self, error: rusqlite::Error) -> Error {
        self.state = WriteState::Failed;
        self.engine.commit_error(error)
    }
}
