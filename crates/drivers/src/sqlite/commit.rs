//! How batches and writes are applied: in one SQLite write transaction.

use std::borrow::Cow;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Error, ErrorKind, Existed, Fill, KeyRange, OperationRef, Precondition, Result, Snapshot,
    Version, Writer, counter,
};
use rusqlite::{Connection, params};

use super::engine::{Engine, Transaction, engine_error};
use super::snapshot::{UnfinishedSnapshot, get};
use crate::recent::{Effect, Recorder};

const PUT: &str = "INSERT OR REPLACE INTO entries (key, value) VALUES (?1, ?2)";
const PUT_NEW: &str = "INSERT OR IGNORE INTO entries (key, value) VALUES (?1, ?2)";
const DELETE: &str = "DELETE FROM entries WHERE key = ?1";
const DELETE_ALL: &str = "DELETE FROM entries";
const DELETE_FROM: &str = "DELETE FROM entries WHERE key >= ?1";
const DELETE_RANGE: &str = "DELETE FROM entries WHERE key >= ?1 AND key < ?2";

/// Applies a batch, together with those that other threads commit at the same time.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Version> {
    batch.check_limits()?;
    engine
        .queue
        .commit(batch, &|batches| apply(engine, batches))
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
            test(writer, preconditions)?;
            fill(writer).map_err(Stop::Refused)
        });
        filled.map_err(|stop| stop.into_error(engine))
    })
}

/// Applies batches in one transaction; one result for each.
fn apply(engine: &Arc<Engine>, batches: &[Batch]) -> Vec<Result<Version>> {
    let mut refused: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    loop {
        match attempt(engine, batches, &mut refused) {
            Ok(results) => return results,
            Err((at, Stop::Refused(error))) => refused[at] = Some(error),
            // The engine failed. It may be for the size of one of them: each for itself.
            Err((_, stop)) if batches.len() > 1 && stop.is_undone() => {
                let alone = |batch| apply(engine, std::slice::from_ref(batch));
                return batches.iter().flat_map(alone).collect();
            }
            Err((_, stop)) => return fail_all(batches, stop.into_error(engine)),
        }
    }
}

fn fail_all(batches: &[Batch], error: Error) -> Vec<Result<Version>> {
    let kind = error.kind();
    let message = error.to_string();
    let mut results: Vec<_> = batches[1..]
        .iter()
        .map(|_| Err(Error::new(kind, message.clone())))
        .collect();
    results.insert(0, Err(error));
    results
}

/// Applies every batch that is not refused yet. Fails with the index of a batch that has to be
/// refused alone, or with the failure of the engine.
fn attempt(
    engine: &Arc<Engine>,
    batches: &[Batch],
    refused: &mut [Option<Error>],
) -> std::result::Result<Vec<Result<Version>>, (usize, Stop)> {
    let mut conflicts: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    let mut current = 0;
    let changed = change(engine, |writer| {
        for (at, batch) in batches.iter().enumerate() {
            current = at;
            if refused[at].is_some() {
                continue;
            }
            match test(writer, batch.preconditions()) {
                Ok(()) => apply_operations(writer, batch)?,
                Err(Stop::Refused(conflict)) => conflicts[at] = Some(conflict),
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    });
    let version = changed.map_err(|stop| (current, stop))?;
    let outcomes = refused.iter_mut().zip(conflicts);
    let result = |(refused, conflict): (&mut Option<Error>, Option<Error>)| {
        refused.take().or(conflict).map_or(Ok(version), Err)
    };
    Ok(outcomes.map(result).collect())
}

/// Why a change was not made.
enum Stop {
    /// For what it is.
    Refused(Error),
    /// Because the engine failed.
    Failed(rusqlite::Error),
    /// Because the engine failed at the very end: the change may be there after a crash.
    Unknown(rusqlite::Error),
}

impl Stop {
    /// The failure of a commit. When the flush is what failed, the log holds all of it.
    fn at_the_end(error: rusqlite::Error) -> Self {
        let failed_flush =
            |error: &rusqlite::ffi::Error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC;
        if error.sqlite_error().is_some_and(failed_flush) {
            return Self::Unknown(error);
        }
        Self::Failed(error)
    }

    fn is_undone(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }

    fn into_error(self, engine: &Engine) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Failed(error) => engine.commit_error(error),
            Self::Unknown(error) => Error::new(
                ErrorKind::OutcomeUnknown,
                "the disk failed while it made a commit durable; it may be there or not",
            )
            .with_source(error),
        }
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

/// Runs `fill` in a write transaction, commits it, and tells the watchers.
fn change(
    engine: &Arc<Engine>,
    fill: impl FnOnce(&mut SqliteWriter<'_>) -> std::result::Result<(), Stop>,
) -> std::result::Result<Version, Stop> {
    let mut connection = engine.writer.lock();
    let version = change_through(&connection, engine, fill)?;
    engine.shorten_log(&mut connection);
    Ok(version)
}

fn change_through(
    connection: &Connection,
    engine: &Engine,
    fill: impl FnOnce(&mut SqliteWriter<'_>) -> std::result::Result<(), Stop>,
) -> std::result::Result<Version, Stop> {
    let (transaction, before) = Transaction::begin_write(connection)?;
    engine.recent.push_foreign(before);
    let mut writer = SqliteWriter {
        transaction,
        before,
        engine,
        recorder: Recorder::new(),
        state: State::Sound,
    };
    fill(&mut writer)?;
    if writer.state == State::Failed {
        return Err(Stop::Refused(ended()));
    }
    let SqliteWriter {
        transaction,
        recorder,
        ..
    } = writer;
    if recorder.effect() == Effect::Nothing {
        transaction.rollback()?;
        return Ok(before);
    }
    let version = Version(before.0 + 1);
    let _publishing = engine.publishing.lock();
    transaction.commit(version).map_err(Stop::at_the_end)?;
    engine.recent.push(version, recorder);
    Ok(version)
}

fn test(
    writer: &SqliteWriter<'_>,
    preconditions: &[Precondition],
) -> std::result::Result<(), Stop> {
    for condition in preconditions {
        let held = get(writer.transaction.connection(), &condition.key)?;
        if held.as_deref() != condition.value.as_deref() {
            return Err(Stop::Refused(Error::conflict(&condition.key)));
        }
    }
    Ok(())
}

fn apply_operations(writer: &mut SqliteWriter<'_>, batch: &Batch) -> std::result::Result<(), Stop> {
    for operation in batch.operations() {
        match operation {
            OperationRef::Put(key, value) => writer.set(key, value)?,
            OperationRef::Delete(key) => writer.remove(key)?,
            OperationRef::DeleteRange(range) => writer.remove_range(range)?,
            OperationRef::Add(key, delta) => writer.sum(key, delta)?,
        }
    }
    Ok(())
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

    fn is_sound(&self) -> Result<()> {
        match self.state {
            State::Sound => Ok(()),
            State::Failed => Err(ended()),
        }
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        self.transaction.run(PUT, params![key, value])?;
        self.recorder.put(key, value);
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> rusqlite::Result<()> {
        if self.transaction.run(DELETE, [key])? > 0 {
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

    fn sum(&mut self, key: &[u8], delta: i64) -> std::result::Result<(), Stop> {
        let stored = get(self.transaction.connection(), key)?;
        let sum = counter::add(key, stored.as_deref(), delta).map_err(Stop::Refused)?;
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
        match self.transaction.run(PUT_NEW, params![key, value]) {
            Ok(0) => Ok(Existed::Yes),
            Ok(_) => {
                self.recorder.put(key, value);
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
        self.sum(key, delta).map_err(|stop| match stop {
            Stop::Refused(error) => error,
            Stop::Failed(error) | Stop::Unknown(error) => self.failure(error),
        })
    }
}
