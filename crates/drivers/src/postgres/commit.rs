//! Applies batches and streamed writes, each in one transaction that locks the row of the state.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Committed, Error, ErrorKind, KeyExisted, KeyRange, OperationRef, Precondition, Result,
    Snapshot, Version, WriteBody, Writer, counter,
};

use super::engine::{
    COMMIT_IDLE_MAX, Connection, EmptyRanges, Engine, Failure, LogRecord, OptimisticCommit,
    Outcome, ReadResults, ReadSet, Transaction, WRITE_IDLE_MAX, WriteSet, Written, fill_in,
};
use super::snapshot::UncommittedSnapshot;
use crate::group_commit_queue::fail_all;
use crate::recent_commits::{Effect, Recorder};
use crate::streamed_write::{WriteState, write_failed};

/// The most attempts of a commit, if connections break or other transactions conflict.
const ATTEMPTS_MAX: u32 = 10;

/// The wait before the second attempt. It doubles before each further one.
const ATTEMPT_WAIT: Duration = Duration::from_millis(2);

/// Bytes of keys and values that a streamed write buffers before it sends them: 4 MiB.
const BUFFER_BYTES_MAX: usize = 4 << 20;

/// Applies a batch. Batches that other threads commit at the same time share the transaction.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Committed> {
    batch.check_limits()?;
    engine
        .queue
        .commit(batch, &|batches| apply(engine, batches))
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
    engine.queue.lead(|| stream(engine, preconditions, fill))
}

/// Why a transaction did not commit.
enum Stop {
    /// It was rejected, and a retry would not help.
    Refused(Error),
    /// The connection broke or another transaction conflicted. It can be retried.
    Retry(Error),
}

impl Stop {
    fn new(engine: &Engine, failure: Failure) -> Self {
        let may_pass = failure.is_connection_lost() || failure.is_conflict();
        let error = failure.into_error(&engine.setup);
        match may_pass {
            true => Self::Retry(error),
            false => Self::Refused(error),
        }
    }

    fn into_error(self) -> Error {
        match self {
            Self::Refused(error) | Self::Retry(error) => error,
        }
    }
}

type Attempt<T> = std::result::Result<T, Stop>;

/// Runs `attempt` with the connection that writes, and retries it if that may help.
fn retry<T>(engine: &Engine, mut attempt: impl FnMut(&mut Connection) -> Attempt<T>) -> Result<T> {
    let mut wait = ATTEMPT_WAIT;
    for _ in 1..ATTEMPTS_MAX {
        match engine.with_writer(|connection| Ok(attempt(connection)))? {
            Ok(done) => return Ok(done),
            Err(Stop::Refused(error)) => return Err(error),
            Err(Stop::Retry(error)) => {
                tracing::debug!(%error, "a commit is retried");
                thread::sleep(wait);
                wait *= 2;
            }
        }
    }
    engine.with_writer(|connection| attempt(connection).map_err(Stop::into_error))
}

/// Applies batches in one transaction; one result for each.
fn apply(engine: &Arc<Engine>, batches: &[Batch]) -> Vec<Result<Version>> {
    match retry(engine, |connection| attempt(engine, connection, batches)) {
        Ok(results) => results,
        // The size of one batch may be the cause, so each is retried alone.
        Err(error) if batches.len() > 1 && error.kind() != ErrorKind::OutcomeUnknown => {
            let alone = |batch| apply(engine, std::slice::from_ref(batch));
            batches.iter().flat_map(alone).collect()
        }
        Err(error) => fail_all(batches, error),
    }
}

fn attempt(
    engine: &Engine,
    connection: &mut Connection,
    batches: &[Batch],
) -> Attempt<Vec<Result<Version>>> {
    if let Some(version) = attempt_optimistic(engine, connection, batches)? {
        return Ok(batches.iter().map(|_| Ok(version)).collect());
    }
    let mut read_set = ReadSet::default();
    for batch in batches {
        read_set.add_preconditions(batch.preconditions());
        read_set.add_operations(batch);
    }
    let begun = Transaction::begin(connection, &read_set, COMMIT_IDLE_MAX);
    let (transaction, reads) = begun.map_err(|failure| Stop::new(engine, failure))?;
    engine.note_base_version(transaction.before());
    let (mut write_set, mut recorder) = (WriteSet::default(), Recorder::new());
    let mut refused = Vec::with_capacity(batches.len());
    for batch in batches {
        refused.push(evaluate(batch, &reads, &mut write_set, &mut recorder).err());
    }
    let version = finish(engine, transaction, &write_set, recorder)?;
    let result = |refused: Option<Error>| refused.map_or(Ok(version), Err);
    Ok(refused.into_iter().map(result).collect())
}

/// Tries to commit in one statement. Returns `None` if that is not possible, or if an assumption was wrong.
fn attempt_optimistic(
    engine: &Engine,
    connection: &mut Connection,
    batches: &[Batch],
) -> Attempt<Option<Version>> {
    let optimistic = engine
        .assumed_version()
        .filter(|_| engine.lens.read().is_none())
        .and_then(|before| OptimisticCommit::new(batches, before));
    let Some(optimistic) = optimistic else {
        return Ok(None);
    };
    let record = optimistic.record(engine.new_id());
    if record.truncation().is_some() {
        return Ok(None);
    }
    match engine.commit_optimistic(connection, &optimistic, &record) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(failure) => resolve_failure(engine, failure, &record)?,
    }
    engine.recent.push_next(record.version, optimistic.recorder);
    Ok(Some(engine.note_seen(record.version)))
}

fn evaluate<'b>(
    batch: &'b Batch,
    reads: &ReadResults,
    write_set: &mut WriteSet<'b>,
    recorder: &mut Recorder,
) -> Result<()> {
    write_set.test(reads, batch.preconditions())?;
    write_set.apply(batch, reads, recorder)
}

/// Writes the write set, commits, and publishes the commit to the watchers.
fn finish(
    engine: &Engine,
    mut transaction: Transaction<'_>,
    write_set: &WriteSet<'_>,
    recorder: Recorder,
) -> Attempt<Version> {
    let before = transaction.before();
    if recorder.effect() == Effect::Nothing {
        return Ok(engine.note_seen(before));
    }
    let version = Version(before.0 + 1);
    let record = LogRecord::new(version, engine.new_id(), &recorder);
    let nothing = WriteSet::default();
    let lens = engine.lens.read().clone();
    let write_set = match lens {
        Some(lens) => {
            let stored = transaction
                .store(write_set)
                .and_then(|()| fill_in(&mut transaction, &engine.setup, &*lens));
            stored.map_err(|failure| Stop::new(engine, failure))?;
            &nothing
        }
        None => write_set,
    };
    if let Err(failure) = engine.finish(transaction, write_set, &record) {
        resolve_failure(engine, failure, &record)?;
    }
    engine.recent.push_next(version, recorder);
    Ok(engine.note_seen(version))
}

/// After a failure of a commit, finds out whether it was committed nevertheless.
fn resolve_failure(engine: &Engine, failure: Failure, record: &LogRecord) -> Attempt<()> {
    if failure.is_refusal() {
        return Err(Stop::new(engine, failure));
    }
    match engine.resolve(record, &failure) {
        Outcome::Committed => Ok(()),
        Outcome::NotCommitted => Err(Stop::Retry(failure.into_error(&engine.setup))),
        Outcome::Unknown(error) => Err(Stop::Refused(error)),
    }
}

fn stream(
    engine: &Arc<Engine>,
    preconditions: &[Precondition],
    fill: WriteBody<'_>,
) -> Result<Version> {
    let mut fill = Some(fill);
    retry(engine, |connection| {
        let mut read_set = ReadSet::default();
        read_set.add_preconditions(preconditions);
        let begun = Transaction::begin(connection, &read_set, WRITE_IDLE_MAX);
        let (transaction, reads) = begun.map_err(|failure| Stop::new(engine, failure))?;
        let tested = WriteSet::default().test(&reads, preconditions);
        tested.map_err(Stop::Refused)?;
        let mut writer = PostgresWriter {
            engine,
            transaction,
            batch: Batch::new(),
            write_set: WriteSet::default(),
            empty_ranges: EmptyRanges::default(),
            recorder: Recorder::new(),
            state: WriteState::Open,
        };
        // From here on the write is not retried, as `fill` can be called only once.
        let Some(fill) = fill.take() else {
            return Err(Stop::Refused(write_failed()));
        };
        fill(&mut writer).map_err(Stop::Refused)?;
        writer
            .end()
            .map_err(|stop| Stop::Refused(stop.into_error()))
    })
}

struct PostgresWriter<'e> {
    engine: &'e Engine,
    transaction: Transaction<'e>,
    /// Operations that are not sent yet.
    batch: Batch,
    /// The same operations, indexed by key.
    write_set: WriteSet<'static>,
    /// Key ranges in which neither the server nor the write set has a key.
    empty_ranges: EmptyRanges,
    recorder: Recorder,
    /// The server rejects all statements of a transaction after an error.
    state: WriteState,
}

impl PostgresWriter<'_> {
    fn check_usable(&self) -> Result<()> {
        self.state.check()
    }

    fn failure(&mut self, failure: Failure) -> Error {
        self.state = WriteState::Failed;
        failure.into_error(&self.engine.setup)
    }

    fn put_unchecked(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.put(key, value);
        self.empty_ranges.remove_key(key);
        let value = Cow::Owned(value.to_vec());
        self.write_set.put(Cow::Owned(key.to_vec()), value);
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.batch.bytes() < BUFFER_BYTES_MAX {
            return Ok(());
        }
        self.flush()
    }

    /// Sends the buffered operations.
    fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.write_set = WriteSet::default();
        let mut write_set = WriteSet::default();
        let sent = self
            .evaluate(&batch, &mut write_set)
            .and_then(|()| self.transaction.store(&write_set));
        sent.map_err(|failure| self.failure(failure))
    }

    fn evaluate<'b>(
        &mut self,
        batch: &'b Batch,
        write_set: &mut WriteSet<'b>,
    ) -> std::result::Result<(), Failure> {
        let is_logged = self.recorder.changes().is_some();
        let reads = match is_logged || self.recorder.effect() == Effect::Nothing {
            false => ReadResults::assuming_present(),
            true => {
                let mut read_set = ReadSet::default();
                read_set.add_operations(batch);
                self.transaction.read(&read_set)?
            }
        };
        // `add` has already evaluated the sums, so no operation is rejected here.
        let applied = write_set.apply(batch, &reads, &mut self.recorder);
        applied.map_err(|error| Failure::Io(std::io::Error::other(error)))
    }

    /// The value of a key after the operations of this write so far.
    fn value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.write_set.find(key) {
            Written::Value(value) => return Ok(Some(value.to_vec())),
            Written::Deleted => return Ok(None),
            Written::Untouched if self.empty_ranges.contains(key) => return Ok(None),
            Written::Untouched => {}
        }
        let first = self.transaction.connection().first_from(key);
        let first = first.map_err(|failure| self.failure(failure))?;
        let stored = match first {
            Some((found, value)) if found == key => return Ok(Some(value)),
            first => first.map(|(found, _)| found),
        };
        let set = self.write_set.first_set(key);
        self.empty_ranges
            .insert(key, stored.as_deref().into_iter().chain(set).min());
        Ok(None)
    }

    /// Sends the rest and commits.
    fn end(mut self) -> Attempt<Version> {
        self.check_usable().map_err(Stop::Refused)?;
        let batch = std::mem::take(&mut self.batch);
        let mut write_set = WriteSet::default();
        let evaluated = self.evaluate(&batch, &mut write_set);
        evaluated.map_err(|failure| Stop::new(self.engine, failure))?;
        let Self {
            engine,
            transaction,
            recorder,
            ..
        } = self;
        finish(engine, transaction, &write_set, recorder)
    }
}

impl Writer for PostgresWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.check_usable()?;
        self.put_unchecked(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<KeyExisted> {
        OperationRef::Put(key, value).check_limits()?;
        self.check_usable()?;
        if self.value(key)?.is_some() {
            return Ok(KeyExisted::Yes);
        }
        self.put_unchecked(key, value)?;
        Ok(KeyExisted::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.check_usable()?;
        if key.is_empty() {
            return Ok(None);
        }
        Ok(self.value(key)?.map(Cow::Owned))
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        self.check_usable()?;
        if !self.write_set.is_empty() {
            self.flush()?;
        }
        Ok(Box::new(UncommittedSnapshot {
            before: self.transaction.before(),
            setup: &self.engine.setup,
            connection: self.transaction.connection().into(),
        }))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.check_usable()?;
        self.batch.delete(key);
        self.write_set.delete(Cow::Owned(key.to_vec()));
        self.flush_if_full()
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.check_usable()?;
        if range.is_empty() {
            return Ok(());
        }
        self.batch.delete_range(range.clone());
        self.write_set.delete_range(range);
        self.flush_if_full()
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        self.check_usable()?;
        let stored = self.value(key)?;
        let sum = counter::add(key, stored.as_deref(), delta)?;
        self.put_unchecked(key, &sum)
    }
}
