//! Write transactions: the lock, what is read under it, what is written, and the commit.

use std::time::Duration;

use espalier_keyspace::{KeyRange, Version};

use super::connection::{Connection, Step};
use super::copy::{Put, ROWS_MIN};
use super::error::Failure;
use super::facts::{Facts, Wanted};
use super::log::Record;
use super::open::Push;
use super::pending::Pending;
use super::reads::version_in;
use super::setup::Setup;
use super::statements::Query;

/// How long the server waits for a process that halts in the middle of a commit.
pub const COMMIT_IDLE_MAX: Duration = Duration::from_secs(5);

/// How long it waits in the middle of a streamed write, for more to be told.
pub const WRITE_IDLE_MAX: Duration = Duration::from_secs(300);

/// Entries that one statement sets.
const ENTRIES_MAX: usize = 5_000;

/// Bytes of keys and values that one statement sets, if they can be divided: 4 MiB.
pub(super) const STATEMENT_BYTES: usize = 4 << 20;

/// Statements that are sent before an answer is waited for.
const WINDOW: usize = 4;

/// A transaction that holds the lock; dropping it undoes it.
pub(in crate::postgres) struct Transaction<'c> {
    connection: &'c mut Connection,
    before: Version,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
}

impl<'c> Transaction<'c> {
    /// Takes the lock, when whoever has it is done, and reads what is wanted, in one round trip.
    pub(in crate::postgres) fn begin(
        connection: &'c mut Connection,
        wanted: &Wanted<'_>,
        idle_max: Duration,
    ) -> Result<(Self, Facts), Failure> {
        let idle_max = idle_max.as_millis();
        let begin = format!("BEGIN; SET LOCAL idle_in_transaction_session_timeout = {idle_max}");
        let questions = wanted.questions();
        let mut steps = vec![Step::Text(&begin), Step::Query(Query::Lock, vec![])];
        steps.extend(questions.steps());
        let mut transaction = Self {
            connection,
            before: Version::default(),
            state: State::Open,
        };
        let answers = transaction.connection.run(&steps)?;
        transaction.before = version_in(&answers)?;
        let facts = questions.facts(&answers[2..])?;
        Ok((transaction, facts))
    }

    /// The version of the state before.
    pub(in crate::postgres) fn before(&self) -> Version {
        self.before
    }

    /// The connection, which sees what was written so far.
    pub(in crate::postgres) fn connection(&mut self) -> &mut Connection {
        self.connection
    }

    /// Reads what is wanted.
    pub(in crate::postgres) fn facts(&mut self, wanted: &Wanted<'_>) -> Result<Facts, Failure> {
        let questions = wanted.questions();
        let steps: Vec<_> = questions.steps().collect();
        let answers = self.connection.run(&steps)?;
        questions.facts(&answers)
    }

    /// Writes what is pending.
    pub(in crate::postgres) fn store(&mut self, pending: &Pending<'_>) -> Result<(), Failure> {
        let writes = self.begin_to_store(pending)?;
        self.run(&writes.steps())
    }

    /// Writes what is pending so far as there is a better way than by statements; returns the rest.
    fn begin_to_store<'p>(&mut self, pending: &'p Pending<'_>) -> Result<Writes<'p>, Failure> {
        let puts: Vec<_> = pending.set().collect();
        let mut writes = Writes::deletions(pending);
        if puts.len() < ROWS_MIN {
            writes.put(&puts);
            return Ok(writes);
        }
        self.run(&writes.steps())?;
        let mut rest = Writes::default();
        rest.put(&self.connection.copy_new(puts)?);
        Ok(rest)
    }

    fn run(&mut self, steps: &[Step<'_>]) -> Result<(), Failure> {
        let mut parts = steps.chunks(WINDOW);
        parts.try_for_each(|steps| self.connection.run(steps).map(drop))
    }

    /// Commits what changes no version: columns for people.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.state = State::Ended;
        self.connection.text("COMMIT")
    }

    /// Writes what is pending and commits. A failure that is not a refusal leaves open whether it
    /// was committed.
    pub(super) fn commit(
        mut self,
        pending: &Pending<'_>,
        record: &Record,
        setup: &Setup,
        push: Push,
    ) -> Result<(), Failure> {
        let writes = self.begin_to_store(pending)?;
        let mut steps = writes.steps();
        while steps.len() > WINDOW {
            let later = steps.split_off(WINDOW);
            self.connection.run(&steps)?;
            steps = later;
        }
        let version = record.version.0.cast_signed();
        let (id, cut) = (&record.id[..], record.cut());
        steps.push(Step::Query(
            Query::Log,
            vec![&version, &id, &record.changes],
        ));
        steps.push(Step::Query(Query::Raise, vec![&version]));
        if let Some(cut) = &cut {
            steps.push(Step::Query(Query::Forget, vec![cut]));
        }
        let notify = format!("NOTIFY {}; COMMIT", setup.channel());
        steps.push(Step::Text(match push {
            Push::Notify => &notify,
            Push::Never => "COMMIT",
        }));
        // After a refusal the server is still in the transaction: it leaves out a COMMIT that stands
        // behind another statement.
        self.connection.run(&steps)?;
        self.state = State::Ended;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.state == State::Open && self.connection.is_open() {
            self.connection.post("ROLLBACK");
        }
    }
}

/// What is pending, in the parts that statements take.
#[derive(Default)]
struct Writes<'p> {
    ranges: &'p [KeyRange],
    gone: Vec<Vec<&'p [u8]>>,
    parts: Vec<Part<'p>>,
}

#[derive(Default)]
struct Part<'p> {
    keys: Vec<&'p [u8]>,
    values: Vec<&'p [u8]>,
    bytes: usize,
}

impl<'p> Writes<'p> {
    fn deletions(pending: &'p Pending<'_>) -> Self {
        let gone: Vec<_> = pending.deleted().collect();
        Self {
            ranges: &pending.ranges,
            gone: gone.chunks(ENTRIES_MAX).map(<[_]>::to_vec).collect(),
            parts: Vec::new(),
        }
    }

    fn put(&mut self, puts: &[Put<'p>]) {
        for (key, value) in puts {
            let bytes = key.len() + value.len();
            let has_room = |part: &Part<'_>| {
                part.keys.len() < ENTRIES_MAX && part.bytes + bytes <= STATEMENT_BYTES
            };
            if !self.parts.last().is_some_and(has_room) {
                self.parts.push(Part::default());
            }
            if let Some(part) = self.parts.last_mut() {
                part.keys.push(key);
                part.values.push(value);
                part.bytes += bytes;
            }
        }
    }

    fn steps(&self) -> Vec<Step<'_>> {
        let ranges = self.ranges.iter().map(|range| match &range.end {
            None => Step::Query(Query::DeleteFrom, vec![&range.start]),
            Some(end) => Step::Query(Query::DeleteRange, vec![&range.start, end]),
        });
        let gone = self.gone.iter();
        let gone = gone.map(|keys| Step::Query(Query::DeleteMany, vec![keys]));
        let parts = self.parts.iter().map(|part| match &part.keys[..] {
            [_] => Step::Query(Query::Put, vec![&part.keys[0], &part.values[0]]),
            _ => Step::Query(Query::PutMany, vec![&part.keys, &part.values]),
        });
        ranges.chain(gone).chain(parts).collect()
    }
}
