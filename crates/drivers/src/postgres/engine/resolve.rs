//! Finding out what became of a commit whose answer was lost.

use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Error, ErrorKind};

use super::connection::Connection;
use super::error::Failure;
use super::facts::Wanted;
use super::log::Record;
use super::open::{Engine, reconnect};
use super::statements::Query;
use super::transaction::{COMMIT_IDLE_MAX, Transaction};

/// How long a server is waited for that may have committed.
pub const RESOLVE_PATIENCE: Duration = Duration::from_secs(30);

const RETRY: Duration = Duration::from_millis(100);

/// What became of a commit.
#[derive(Debug)]
pub(in crate::postgres) enum Outcome {
    /// It happened.
    Committed,
    /// It did not, and never will.
    Undone,
    /// Nobody can tell.
    Unknown(Error),
}

impl Engine {
    /// Finds out what became of a commit. `failure` is what was seen of it.
    pub(in crate::postgres) fn resolve(&self, record: &Record, failure: &Failure) -> Outcome {
        let deadline = Instant::now() + RESOLVE_PATIENCE;
        tracing::warn!(%failure, version = record.version.0, "looking for a commit");
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let looked = reconnect(&self.setup, left)
                .and_then(|mut connection| look(&mut connection, record));
            match looked {
                Ok(Some(outcome)) => return outcome,
                Ok(None) => return unknown("the log does not go back that far", None),
                Err(failure) if Instant::now() >= deadline => {
                    let source = failure.into_error(&self.setup);
                    return unknown("the server did not come back in time", Some(source));
                }
                Err(failure) => {
                    tracing::debug!(%failure, "the commit cannot be looked for yet");
                    thread::sleep(RETRY);
                }
            }
        }
    }
}

fn unknown(cause: &str, source: Option<Error>) -> Outcome {
    let message =
        format!("the connection was lost during a commit, and {cause}; read before doing it again");
    let error = Error::new(ErrorKind::OutcomeUnknown, message);
    Outcome::Unknown(match source {
        Some(source) => error.with_source(source),
        None => error,
    })
}

/// Looks for the row of a commit; `None` where it cannot be told any more.
fn look(connection: &mut Connection, record: &Record) -> Result<Option<Outcome>, Failure> {
    // The lost transaction had the lock. Whoever gets it after it knows that it has ended.
    let (mut transaction, _) = Transaction::begin(connection, &Wanted::default(), COMMIT_IDLE_MAX)?;
    if transaction.before() < record.version {
        return Ok(Some(Outcome::Undone));
    }
    let version = record.version.0.cast_signed();
    let rows = transaction.connection().query(Query::Logged, &[&version])?;
    let id: Option<&[u8]> = match rows.first() {
        Some(row) => Some(row.try_get(0).map_err(Failure::Database)?),
        None => None,
    };
    Ok(id.map(|id| match id == record.id {
        true => Outcome::Committed,
        false => Outcome::Undone,
    }))
}
