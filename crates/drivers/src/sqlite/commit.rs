//! How batches and writes are applied: in one SQLite write transaction.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Committed, Error, ErrorKind, Existed, Fill, KeyRange, Lens, OperationRef, Precondition,
    Result, Snapshot, Version, Writer, counter,
};
use rusqlite::Connection;

use super::engine::{Engine, Transaction, engine_error, fill_in, show};
use super::snapshot::{UnfinishedSnapshot, get};
use crate::group_commit::{self, Abort, GroupCommit, Recovery, TransactionBody, WriteTransaction};
use crate::readable_columns::columns;
use crate::recent_commits::{Effect, Recorder};

const DELETE_ALL: &str = "DELETE FROM entries";
const DELETE_FROM: &str = "DELETE FROM entries WHERE key >= ?1";
const DELETE_RANGE: &str = "DELETE FROM entries WHERE key >= ?1 AND key < ?2";

/// Applies a batch, together with those that other threads commit at the same time.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Committed> {
    let committed = group_commit::commit(&**engine, &engine.queue, batch);
    committed.inspect_err(|error| {
        // What is refused for what it is, as most are, has left nothing.
        if matches!(error.kind(), ErrorKind::Full | ErrorKind::Engine) {
            engine.give_back_space();
        }
    })
}

/// Applies what `fill` writes.
pub(super) fn write(
    engine: &Arc<Engine>,
    preconditions: &[Precondition],
    fill: Fill<'_>,
) -> Result<Version> {
    preconditions
        .iter()
        .try_for_each(Precondition::check_limits)?;
    engine.queue.lead(|| {
        let filled = change(engine, |writer| {
            group_commit::test(writer, preconditions)?;
            fill(writer).map_err(Abort::Refused)
        });
        filled.map_err(|stop| {
            let error = group_commit::error_of(&**engine, stop);
            engine.give_back_space();
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
            "the disk failed while it made a commit durable; it may be there or not",
        )
        .with_source(failure)
    }
}

/// The failure of a commit. When the flush is what failed, the log holds all of it.
fn at_the_end(error: rusqlite::Error) -> Abort<rusqlite::Error> {
    let failed_flush =
        |error: &rusqlite::ffi::Error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC;
    match error.sqlite_error().is_some_and(failed_flush) {
        true => Abort::Unknown(error),
        false => Abort::Failed(error),
    }
}

/// Runs `fill` in a write transaction, commits it, and tells the watchers.
fn change(
    engine: &Engine,
    fill: impl FnOnce(&mut SqliteWriter<'_>) -> std::result::Result<(), Abort<rusqlite::Error>>,
) -> std::result::Result<Version, Abort<rusqlite::Error>> {
    engine.check_writable().map_err(Abort::NotBegun)?;
    let mut connection = engine.writer.lock();
    let version = change_through(&connection, engine, fill)?;
    engine.shorten_log(&mut connection);
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
        state: State::Sound,
        lens: engine.lens.read().clone(),
    };
    fill(&mut writer)?;
    if writer.state == State::Failed {
        return Err(Abort::Refused(ended()));
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
    transaction.commit(version).map_err(at_the_end)?;
    engine.recent.push(version, recorder);
    Ok(version)
}

/// Whether a write can go on. SQLite may undo a transaction when an operation fails, and what came
/// after it would then be written on its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Sound,
    Failed,
}

struct SqliteWriter<'e> {
    transaction: Transaction<'e>,
    before: Version,
    engine: &'e Engine,
    recorder: Recorder,
    state: State,
    /// Who fills the columns that people query, where there are some.
    lens: Option<Arc<dyn Lens>>,
}

fn ended() -> Error {
    Error::new(
        ErrorKind::Aborted,
        "an earlier error of this write has ended it",
    )
}

impl SqliteWriter<'_> {
    /// The error of an operation, which ends the write.
    fn failure(&mut self, error: rusqlite::Error) -> Error {
        self.state = State::Failed;
        self.engine.commit_error(error)
    }

    /// Stores what people read of a row, where they read it, and where it can be told already.
    fn show(&self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        let Some(lens) = &self.lens else {
            return Ok(());
        };
        let state = UnfinishedSnapshot {
            connection: self.transaction.connection(),
            before: self.before,
        };
        match columns(&**lens, &state, key, value) {
            Some(columns) => show(&self.transaction, key, &columns),
            None => Ok(()),
        }
    }

    fn is_sound(&self) -> Result<()> {
        match self.state {
            State::Sound => Ok(()),
            State::Failed => Err(ended()),
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
        self.show(key, value)
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

    fn add_to_counter(
        &mut self,
        key: &[u8],
        delta: i64,
    ) -> std::result::Result<(), Abort<rusqlite::Error>> {
        let stored = get(self.transaction.connection(), key)?;
        let sum = counter::add(key, stored.as_deref(), delta).map_err(Abort::Refused)?;
        Ok(self.set(key, &sum)?)
    }
}

impl Writer for SqliteWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.is_sound()?;
        self.set(key, value).map_err(|error| self.failure(error))
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        self.is_sound()?;
        match self.transaction.put_new(key, value) {
            Ok(false) => Ok(Existed::Yes),
            Ok(true) => {
                self.recorder.put(key, value);
                let shown = self.show(key, value);
                shown.map_err(|error| self.failure(error))?;
                Ok(Existed::No)
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        let value = get(self.transaction.connection(), key).map_err(engine_error)?;
        Ok(value.map(Cow::Owned))
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(UnfinishedSnapshot {
            connection: self.transaction.connection(),
            before: self.before,
        }))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.is_sound()?;
        self.remove(key).map_err(|error| self.failure(error))
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.is_sound()?;
        self.remove_range(range)
            .map_err(|error| self.failure(error))
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        self.is_sound()?;
        self.add_to_counter(key, delta)
            .map_err(|abort| match abort {
                Abort::Refused(error) | Abort::NotBegun(error) => error,
                Abort::Failed(error) | Abort::Unknown(error) => self.failure(error),
            })
    }
}
