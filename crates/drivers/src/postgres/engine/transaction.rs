//! Write transactions: the lock, the reads under it, the writes, and the commit.

use std::time::Duration;

use espalier_keyspace::{KeyRange, Version};

use super::connection::{Connection, Step};
use super::copy::{Put, ROWS_MIN};
use super::error::Failure;
use super::log::LogRecord;
use super::open::Push;
use super::read_set::{ReadResults, ReadSet};
use super::reads::version_in;
use super::setup::Setup;
use super::statements::Query;
use super::write_set::WriteSet;

/// How long the server waits for a process that stops in the middle of a commit.
pub const COMMIT_IDLE_MAX: Duration = Duration::from_secs(5);

/// How long the server waits for the next statement of a streamed write.
pub const WRITE_IDLE_MAX: Duration = Duration::from_secs(300);

/// The most entries that one statement sets.
const ENTRIES_MAX: usize = 5_000;

/// The most bytes of keys and values that one statement sets, unless a single entry is longer: 4 MiB.
pub(super) const STATEMENT_BYTES: usize = 4 << 20;

/// The most statements that are sent before their responses are awaited.
const WINDOW: usize = 4;

/// A transaction that holds the lock. Dropping it rolls it back.
pub(in crate::postgres) struct Transaction<'c> {
    connection: &'c mut Connection,
    before: Version,
    state: TransactionState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionState {
    Open,
    Ended,
}

impl<'c> Transaction<'c> {
    /// Begins a transaction: waits for the lock and reads the read set, in one round trip.
    pub(in crate::postgres) fn begin(
        connection: &'c mut Connection,
        read_set: &ReadSet<'_>,
        idle_max: Duration,
    ) -> Result<(Self, ReadResults), Failure> {
        let idle_max = idle_max.as_millis();
        let begin = format!("BEGIN; SET LOCAL idle_in_transaction_session_timeout = {idle_max}");
        let queries = read_set.queries();
        let mut steps = vec![Step::Text(&begin), Step::Query(Query::Lock, vec![])];
        steps.extend(queries.steps());
        let mut transaction = Self {
            connection,
            before: Version::default(),
            state: TransactionState::Open,
        };
        let answers = transaction.connection.run(&steps)?;
        transaction.before = version_in(&answers)?;
        let results = queries.results(&answers[2..])?;
        Ok((transaction, results))
    }

    /// The version of the state before the transaction.
    pub(in crate::postgres) fn before(&self) -> Version {
        self.before
    }

    /// The connection, which reads what the transaction has written so far.
    pub(in crate::postgres) fn connection(&mut self) -> &mut Connection {
        self.connection
    }

    /// Reads a read set.
    pub(in crate::postgres) fn read(
        &mut self,
        read_set: &ReadSet<'_>,
    ) -> Result<ReadResults, Failure> {
        let queries = read_set.queries();
        let steps: Vec<_> = queries.steps().collect();
        let answers = self.connection.run(&steps)?;
        queries.results(&answers)
    }

    /// Writes a write set.
    pub(in crate::postgres) fn store(&mut self, write_set: &WriteSet<'_>) -> Result<(), Failure> {
        let writes = self.start_writes(write_set)?;
        self.run(&writes.steps())
    }

    /// Copies the new rows of a write set, if there are many, after running its deletions. Returns the statements
    /// that remain to be run.
    fn start_writes<'p>(
        &mut self,
        write_set: &'p WriteSet<'_>,
    ) -> Result<WriteStatements<'p>, Failure> {
        let puts: Vec<_> = write_set.set().collect();
        let mut writes = WriteStatements::deletions(write_set);
        if puts.len() < ROWS_MIN {
            writes.put(&puts);
            return Ok(writes);
        }
        self.run(&writes.steps())?;
        let mut rest = WriteStatements::default();
        rest.put(&self.connection.copy_new(puts)?);
        Ok(rest)
    }

    fn run(&mut self, steps: &[Step<'_>]) -> Result<(), Failure> {
        let mut parts = steps.chunks(WINDOW);
        parts.try_for_each(|steps| self.connection.run(steps).map(drop))
    }

    /// Commits without a new version, after only readable columns were changed.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.state = TransactionState::Ended;
        self.connection.text("COMMIT")
    }

    /// Writes the write set and commits. After a failure that is not a refusal, the outcome is unknown.
    pub(super) fn commit(
        mut self,
        write_set: &WriteSet<'_>,
        record: &LogRecord,
        setup: &Setup,
        push: Push,
    ) -> Result<(), Failure> {
        let writes = self.start_writes(write_set)?;
        let mut steps = writes.steps();
        while steps.len() > WINDOW {
            let later = steps.split_off(WINDOW);
            self.connection.run(&steps)?;
            steps = later;
        }
        let version = record.version.0.cast_signed();
        let (id, cut) = (&record.id[..], record.truncation());
        steps.push(Step::Query(
            Query::InsertLog,
            vec![&version, &id, &record.changes],
        ));
        steps.push(Step::Query(Query::SetVersion, vec![&version]));
        if let Some(cut) = &cut {
            steps.push(Step::Query(Query::TruncateLog, vec![cut]));
        }
        let notify = format!("NOTIFY {}; COMMIT", setup.channel());
        steps.push(Step::Text(match push {
            Push::Notify => &notify,
            Push::Never => "COMMIT",
        }));
        // After a refusal the server is still in the transaction: it skips a COMMIT that follows another statement
        // in the same text.
        self.connection.run(&steps)?;
        self.state = TransactionState::Ended;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.state == TransactionState::Open && self.connection.is_open() {
            self.connection.post("ROLLBACK");
        }
    }
}

/// A write set, divided into statements.
#[derive(Default)]
struct WriteStatements<'p> {
    ranges: &'p [KeyRange],
    deleted: Vec<Vec<&'p [u8]>>,
    parts: Vec<PutChunk<'p>>,
}

#[derive(Default)]
struct PutChunk<'p> {
    keys: Vec<&'p [u8]>,
    values: Vec<&'p [u8]>,
    bytes: usize,
}

impl<'p> WriteStatements<'p> {
    fn deletions(write_set: &'p WriteSet<'_>) -> Self {
        let deleted: Vec<_> = write_set.deleted().collect();
        Self {
            ranges: &write_set.ranges,
            deleted: deleted.chunks(ENTRIES_MAX).map(<[_]>::to_vec).collect(),
            parts: Vec::new(),
        }
    }

    fn put(&mut self, puts: &[Put<'p>]) {
        for (key, value) in puts {
            let bytes = key.len() + value.len();
            let has_room = |part: &PutChunk<'_>| {
                part.keys.len() < ENTRIES_MAX && part.bytes + bytes <= STATEMENT_BYTES
            };
            if !self.parts.last().is_some_and(has_room) {
                self.parts.push(PutChunk::default());
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
        let deleted = self.deleted.iter();
        let deleted = deleted.map(|keys| Step::Query(Query::DeleteMany, vec![keys]));
        let parts = self.parts.iter().map(|part| match &part.keys[..] {
            [_] => Step::Query(Query::Put, vec![&part.keys[0], &part.values[0]]),
            _ => Step::Query(Query::PutMany, vec![&part.keys, &part.values]),
        });
        ranges.chain(deleted).chain(parts).collect()
    }
}
