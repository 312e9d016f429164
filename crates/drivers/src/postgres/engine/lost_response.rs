//! Resolves the outcome of a commit whose response was lost.

use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind};

use super::connection::Connection;
use super::error::Failure;
use super::log::LogRecord;
use super::open::{Engine, reconnect};
use super::read_set::ReadSet;
use super::statements::Query;
use super::transaction::{COMMIT_IDLE_MAX, Transaction};

/// How long to wait for a server that may have committed.
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(30);

const RETRY: Duration = Duration::from_millis(100);

/// The outcome of a commit.
#[derive(Debug)]
pub(in crate::postgres) enum Outcome {
    /// It was committed.
    Committed,
    /// It was not committed, and will not be.
    NotCommitted,
    /// It cannot be determined.
    Unknown(Error),
}

impl Engine {
    /// Finds the outcome of a commit that ended with `failure`.
    pub(in crate::postgres) fn resolve(&self, record: &LogRecord, failure: &Failure) -> Outcome {
        let deadline = Instant::now() + RESOLVE_TIMEOUT;
        tracing::warn!(%failure, version = record.version.0, "the response to a commit was lost");
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let found = reconnect(&self.setup, left)
                .and_then(|mut connection| find_commit(&mut connection, record));
            match found {
                Ok(Some(outcome)) => return outcome,
                Ok(None) => return unknown("the log does not go back that far", None),
                Err(failure) if Instant::now() >= deadline => {
                    let source = failure.into_error(&self.setup);
                    return unknown("the server did not come back in time", Some(source));
                }
                Err(failure) => {
                    tracing::debug!(%failure, "the outcome of the commit cannot be read yet");
                    thread::sleep(RETRY);
                }
            }
        }
    }
}

fn unknown(cause: &str, source: Option<Error>) -> Outcome {
    let message =
        format!("the connection was lost during a commit, and {cause}; read before retrying");
    let error = Error::new(ErrorKind::OutcomeUnknown, message);
    Outcome::Unknown(match source {
        Some(source) => error.with_source(source),
        None => error,
    })
}

/// Looks for the log row of a commit; `None` if the log has been truncated since.
fn find_commit(
    connection: &mut Connection,
    record: &LogRecord,
) -> Result<Option<Outcome>, Failure> {
    // The lost transaction had the lock. Getting the lock means that it has ended.
    let (mut transaction, _) =
        Transaction::begin(connection, &ReadSet::default(), COMMIT_IDLE_MAX)?;
    if transaction.before() < record.version {
        return Ok(Some(Outcome::NotCommitted));
    }
    let version = record.version.0.cast_signed();
    let rows = transaction
        .connection()
        .query(Query::CommitId, &[&version])?;
    let id: Option<&[u8]> = match rows.first() {
        Some(row) => Some(row.try_get(0).map_err(Failure::Database)?),
        None => None,
    };
    Ok(id.map(|id| match id == record.id {
        true => Outcome::Committed,
        false => Outcome::NotCommitted,
    }))
}
