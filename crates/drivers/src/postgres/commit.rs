//! How batches and writes are applied: in one transaction, under the lock of the state.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Committed, Error, ErrorKind, Existed, Fill, KeyRange, OperationRef, Precondition,
    Result, Snapshot, Version, Writer, counter,
};

use super::engine::{
    COMMIT_IDLE_MAX, Connection, Engine, Facts, Failure, Found, Gaps, Guess, Outcome, Pending,
    Record, Transaction, WRITE_IDLE_MAX, Wanted, fill_in,
};
use super::snapshot::UnfinishedSnapshot;
use crate::recent_commits::{Effect, Recorder};

/// How often a commit is tried, when connections break or others are in the way.
const ATTEMPTS_MAX: u32 = 10;

/// How long the first of these waits, each further one twice as long.
const ATTEMPT_WAIT: Duration = Duration::from_millis(2);

/// Bytes of keys and values that a streamed write keeps before it sends them: 4 MiB.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Applies a batch, together with those that other threads commit at the same time.
pub(super) fn commit(engine: &Arc<Engine>, batch: Batch) -> Result<Committed> {
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
    engine.queue.lead(|| stream(engine, preconditions, fill))
}

/// Why a transaction came to nothing.
enum Stop {
    /// For what it is.
    Refused(Error),
    /// Because a connection broke or others were in the way, and it may be tried again.
    Again(Error),
}

impl Stop {
    fn new(engine: &Engine, failure: Failure) -> Self {
        let may_pass = failure.is_loss() || failure.is_collision();
        let error = failure.into_error(&engine.setup);
        match may_pass {
            true => Self::Again(error),
            false => Self::Refused(error),
        }
    }

    fn into_error(self) -> Error {
        match self {
            Self::Refused(error) | Self::Again(error) => error,
        }
    }
}

type Attempt<T> = std::result::Result<T, Stop>;

/// Tries something with the connection that writes, again where that may help.
fn again<T>(engine: &Engine, mut attempt: impl FnMut(&mut Connection) -> Attempt<T>) -> Result<T> {
    let mut wait = ATTEMPT_WAIT;
    for _ in 1..ATTEMPTS_MAX {
        match engine.with_writer(|connection| Ok(attempt(connection)))? {
            Ok(done) => return Ok(done),
            Err(Stop::Refused(error)) => return Err(error),
            Err(Stop::Again(error)) => {
                tracing::debug!(%error, "a commit is tried again");
                thread::sleep(wait);
                wait *= 2;
            }
        }
    }
    engine.with_writer(|connection| attempt(connection).map_err(Stop::into_error))
}

/// Applies batches in one transaction; one result for each.
fn apply(engine: &Arc<Engine>, batches: &[Batch]) -> Vec<Result<Version>> {
    match again(engine, |connection| attempt(engine, connection, batches)) {
        Ok(results) => results,
        // It may be for the size of one of them: each for itself.
        Err(error) if batches.len() > 1 && error.kind() != ErrorKind::OutcomeUnknown => {
            let alone = |batch| apply(engine, std::slice::from_ref(batch));
            batches.iter().flat_map(alone).collect()
        }
        Err(error) => fail_all(batches, error),
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

fn attempt(
    engine: &Engine,
    connection: &mut Connection,
    batches: &[Batch],
) -> Attempt<Vec<Result<Version>>> {
    if let Some(version) = attempt_guess(engine, connection, batches)? {
        return Ok(batches.iter().map(|_| Ok(version)).collect());
    }
    let mut wanted = Wanted::default();
    for batch in batches {
        wanted.preconditions(batch.preconditions());
        wanted.operations(batch);
    }
    let begun = Transaction::begin(connection, &wanted, COMMIT_IDLE_MAX);
    let (transaction, facts) = begun.map_err(|failure| Stop::new(engine, failure))?;
    engine.found(transaction.before());
    let (mut pending, mut recorder) = (Pending::default(), Recorder::new());
    let mut refused = Vec::with_capacity(batches.len());
    for batch in batches {
        refused.push(work_out(batch, &facts, &mut pending, &mut recorder).err());
    }
    let version = finish(engine, transaction, &pending, recorder)?;
    let result = |refused: Option<Error>| refused.map_or(Ok(version), Err);
    Ok(refused.into_iter().map(result).collect())
}

/// Tries to commit in one statement; `None` where that cannot be, or the guess is wrong.
fn attempt_guess(
    engine: &Engine,
    connection: &mut Connection,
    batches: &[Batch],
) -> Attempt<Option<Version>> {
    let guess = engine
        .guessed_version()
        .filter(|_| engine.lens.read().is_none())
        .and_then(|before| Guess::new(batches, before));
    let Some(guess) = guess else {
        return Ok(None);
    };
    let record = guess.record(engine.new_id());
    if record.cut().is_some() {
        return Ok(None);
    }
    match engine.commit_guess(connection, &guess, &record) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(failure) => settle(engine, failure, &record)?,
    }
    engine.recent.push_next(record.version, guess.recorder);
    Ok(Some(engine.saw(record.version)))
}

fn work_out<'b>(
    batch: &'b Batch,
    facts: &Facts,
    pending: &mut Pending<'b>,
    recorder: &mut Recorder,
) -> Result<()> {
    pending.test(facts, batch.preconditions())?;
    pending.apply(batch, facts, recorder)
}

/// Writes what is pending, commits, and tells the watchers.
fn finish(
    engine: &Engine,
    mut transaction: Transaction<'_>,
    pending: &Pending<'_>,
    recorder: Recorder,
) -> Attempt<Version> {
    let before = transaction.before();
    if recorder.effect() == Effect::Nothing {
        return Ok(engine.saw(before));
    }
    let version = Version(before.0 + 1);
    let record = Record::new(version, engine.new_id(), &recorder);
    let nothing = Pending::default();
    let lens = engine.lens.read().clone();
    let pending = match lens {
        Some(lens) => {
            let shown = transaction
                .store(pending)
                .and_then(|()| fill_in(&mut transaction, &engine.setup, &*lens));
            shown.map_err(|failure| Stop::new(engine, failure))?;
            &nothing
        }
        None => pending,
    };
    if let Err(failure) = engine.finish(transaction, pending, &record) {
        settle(engine, failure, &record)?;
    }
    engine.recent.push_next(version, recorder);
    Ok(engine.saw(version))
}

/// Finds out whether a commit that failed was committed all the same.
fn settle(engine: &Engine, failure: Failure, record: &Record) -> Attempt<()> {
    if failure.is_refusal() {
        return Err(Stop::new(engine, failure));
    }
    match engine.resolve(record, &failure) {
        Outcome::Committed => Ok(()),
        Outcome::Undone => Err(Stop::Again(failure.into_error(&engine.setup))),
        Outcome::Unknown(error) => Err(Stop::Refused(error)),
    }
}

fn stream(engine: &Arc<Engine>, preconditions: &[Precondition], fill: Fill<'_>) -> Result<Version> {
    let mut fill = Some(fill);
    again(engine, |connection| {
        let mut wanted = Wanted::default();
        wanted.preconditions(preconditions);
        let begun = Transaction::begin(connection, &wanted, WRITE_IDLE_MAX);
        let (transaction, facts) = begun.map_err(|failure| Stop::new(engine, failure))?;
        let tested = Pending::default().test(&facts, preconditions);
        tested.map_err(Stop::Refused)?;
        let mut writer = PostgresWriter {
            engine,
            transaction,
            batch: Batch::new(),
            pending: Pending::default(),
            gaps: Gaps::default(),
            recorder: Recorder::new(),
            state: State::Sound,
        };
        // From here on there is no second attempt: `fill` is called once.
        let Some(fill) = fill.take() else {
            return Err(Stop::Refused(ended()));
        };
        fill(&mut writer).map_err(Stop::Refused)?;
        writer
            .end()
            .map_err(|stop| Stop::Refused(stop.into_error()))
    })
}

/// Whether a write can go on. The server takes nothing more in a transaction that had an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Sound,
    Failed,
}

fn ended() -> Error {
    Error::new(
        ErrorKind::Aborted,
        "an earlier error of this write has ended it",
    )
}

struct PostgresWriter<'e> {
    engine: &'e Engine,
    transaction: Transaction<'e>,
    /// What was told and not sent yet.
    batch: Batch,
    /// The same, to be found by key.
    pending: Pending<'static>,
    /// Where the server has nothing, what is pending aside, and will have nothing of it either.
    gaps: Gaps,
    recorder: Recorder,
    state: State,
}

impl PostgresWriter<'_> {
    fn is_sound(&self) -> Result<()> {
        match self.state {
            State::Sound => Ok(()),
            State::Failed => Err(ended()),
        }
    }

    fn failure(&mut self, failure: Failure) -> Error {
        self.state = State::Failed;
        failure.into_error(&self.engine.setup)
    }

    fn put_unchecked(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.put(key, value);
        self.gaps.fill(key);
        let value = Cow::Owned(value.to_vec());
        self.pending.put(Cow::Owned(key.to_vec()), value);
        self.send_if_many()
    }

    fn send_if_many(&mut self) -> Result<()> {
        if self.batch.bytes() < KEPT_BYTES_MAX {
            return Ok(());
        }
        self.send()
    }

    /// Sends what was told so far.
    fn send(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.pending = Pending::default();
        let mut pending = Pending::default();
        let sent = self
            .work_out(&batch, &mut pending)
            .and_then(|()| self.transaction.store(&pending));
        sent.map_err(|failure| self.failure(failure))
    }

    fn work_out<'b>(
        &mut self,
        batch: &'b Batch,
        pending: &mut Pending<'b>,
    ) -> std::result::Result<(), Failure> {
        let is_told = self.recorder.changes().is_some();
        let facts = match is_told || self.recorder.effect() == Effect::Nothing {
            false => Facts::blind(),
            true => {
                let mut wanted = Wanted::default();
                wanted.operations(batch);
                self.transaction.facts(&wanted)?
            }
        };
        // Sums were worked out as they were told, so nothing is refused here.
        let applied = pending.apply(batch, &facts, &mut self.recorder);
        applied.map_err(|error| Failure::Local(std::io::Error::other(error)))
    }

    /// The value of a key as this write would leave it now.
    fn value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.pending.find(key) {
            Found::Value(value) => return Ok(Some(value.to_vec())),
            Found::Absent => return Ok(None),
            Found::Untouched if self.gaps.holds(key) => return Ok(None),
            Found::Untouched => {}
        }
        let first = self.transaction.connection().first_from(key);
        let first = first.map_err(|failure| self.failure(failure))?;
        let stored = match first {
            Some((found, value)) if found == key => return Ok(Some(value)),
            first => first.map(|(found, _)| found),
        };
        let set = self.pending.first_set(key);
        self.gaps
            .note(key, stored.as_deref().into_iter().chain(set).min());
        Ok(None)
    }

    /// Sends the rest and commits.
    fn end(mut self) -> Attempt<Version> {
        self.is_sound().map_err(Stop::Refused)?;
        let batch = std::mem::take(&mut self.batch);
        let mut pending = Pending::default();
        let worked_out = self.work_out(&batch, &mut pending);
        worked_out.map_err(|failure| Stop::new(self.engine, failure))?;
        let Self {
            engine,
            transaction,
            recorder,
            ..
        } = self;
        finish(engine, transaction, &pending, recorder)
    }
}

impl Writer for PostgresWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.is_sound()?;
        self.put_unchecked(key, value)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<Existed> {
        OperationRef::Put(key, value).check_limits()?;
        self.is_sound()?;
        if self.value(key)?.is_some() {
            return Ok(Existed::Yes);
        }
        self.put_unchecked(key, value)?;
        Ok(Existed::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.is_sound()?;
        if key.is_empty() {
            return Ok(None);
        }
        Ok(self.value(key)?.map(Cow::Owned))
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        self.is_sound()?;
        if !self.pending.is_empty() {
            self.send()?;
        }
        Ok(Box::new(UnfinishedSnapshot {
            before: self.transaction.before(),
            setup: &self.engine.setup,
            connection: self.transaction.connection().into(),
        }))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.is_sound()?;
        self.batch.delete(key);
        self.pending.delete(Cow::Owned(key.to_vec()));
        self.send_if_many()
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.is_sound()?;
        if range.is_empty() {
            return Ok(());
        }
        self.batch.delete_range(range.clone());
        self.pending.delete_range(range);
        self.send_if_many()
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        self.is_sound()?;
        let stored = self.value(key)?;
        let sum = counter::add(key, stored.as_deref(), delta)?;
        self.put_unchecked(key, &sum)
    }
}
