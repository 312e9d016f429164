//! The server's errors as those of a key space.

use std::fmt;
use std::io;
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind};
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::setup::Setup;
use crate::error_chain::ErrorChain;
use crate::postgres::config::FORM;
use crate::tls_hints::{CaCertificateUse, OptionNames, certificate_hint};

/// The options that trust is about.
const OPTION_NAMES: OptionNames = OptionNames {
    authority: "sslrootcert=FILE",
    identity: "sslcert=FILE&sslkey=FILE",
    ca_use: CaCertificateUse::AuthorityOrServer,
};

/// Why a call to the server failed.
#[derive(Debug)]
pub(in crate::postgres) enum Failure {
    /// The server says so, or the connection does.
    Database(tokio_postgres::Error),
    /// No answer came in this time.
    Silent(Duration),
    /// Something on this side.
    Local(io::Error),
    /// The connection cannot be made secure.
    Secured(String),
    /// What is stored is not what this driver stores.
    Damaged(&'static str),
}

impl Failure {
    fn state(&self) -> Option<&SqlState> {
        match self {
            Self::Database(error) => error.code(),
            _ => None,
        }
    }

    /// Whether the server has refused a statement and goes on: then it has undone the transaction.
    pub(in crate::postgres) fn is_refusal(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        let severity = error
            .as_db_error()
            .and_then(|error| error.parsed_severity());
        matches!(severity, Some(Severity::Error))
    }

    /// The failure again, unless the server goes on after it.
    pub(in crate::postgres) fn still_open(self) -> Result<(), Self> {
        if self.is_refusal() { Ok(()) } else { Err(self) }
    }

    /// Whether concurrent transactions were in each other's way.
    pub(in crate::postgres) fn is_collision(&self) -> bool {
        matches!(
            self.state(),
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
        )
    }

    /// Whether a table or schema is not there.
    pub(in crate::postgres) fn is_missing(&self) -> bool {
        matches!(
            self.state(),
            Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME)
        )
    }

    /// Whether a table or schema is there already, or is just being made by another.
    pub(in crate::postgres) fn is_duplicate(&self) -> bool {
        matches!(
            self.state(),
            Some(
                &SqlState::DUPLICATE_TABLE
                    | &SqlState::DUPLICATE_SCHEMA
                    | &SqlState::DUPLICATE_OBJECT
                    | &SqlState::UNIQUE_VIOLATION
            )
        )
    }

    /// Whether the server is there and will take connections in a moment.
    pub(in crate::postgres) fn is_starting(&self) -> bool {
        matches!(self.state(), Some(&SqlState::CANNOT_CONNECT_NOW))
    }

    /// Whether the connection was lost, or could not be made.
    pub(in crate::postgres) fn is_loss(&self) -> bool {
        match self {
            Self::Database(error) => match error.as_db_error() {
                Some(told) => !is_plain(told) && is_end(told.code()),
                None => true,
            },
            Self::Silent(_) | Self::Local(_) => true,
            Self::Secured(_) | Self::Damaged(_) => false,
        }
    }

    /// The error for the caller.
    pub(in crate::postgres) fn into_error(self, setup: &Setup) -> Error {
        let place = &setup.place;
        match self {
            Self::Silent(after) => Error::new(
                ErrorKind::Unavailable,
                format!("{place} does not answer (waited {} s)", after.as_secs()),
            ),
            Self::Local(error) => Error::new(
                ErrorKind::Unavailable,
                format!("the connection to {place} was lost"),
            )
            .with_source(error),
            Self::Secured(problem) => Error::new(ErrorKind::Denied, unsecured(place, &problem)),
            Self::Damaged(problem) => Error::new(
                ErrorKind::Corrupt,
                format!("the data at {place}: {problem}"),
            ),
            Self::Database(error) => database_error(error, setup),
        }
    }
}

/// Whether this is the error of a statement, after which the server goes on.
fn is_plain(told: &DbError) -> bool {
    told.parsed_severity()
        .map_or(told.severity() == "ERROR", |severity| {
            severity == Severity::Error
        })
}

/// Whether a server that says this has ended the connection for a reason of its own.
fn is_end(state: &SqlState) -> bool {
    let code = state.code();
    code.starts_with("57P") || code.starts_with("08") || code.starts_with("25P") || code == "53300"
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => match error.as_db_error() {
                Some(told) => write!(f, "{}", told.message()),
                None => write!(f, "{error}"),
            },
            Self::Silent(after) => write!(f, "no answer in {} s", after.as_secs()),
            Self::Local(error) => write!(f, "{error}"),
            Self::Secured(problem) => f.write_str(problem),
            Self::Damaged(problem) => f.write_str(problem),
        }
    }
}

fn database_error(error: tokio_postgres::Error, setup: &Setup) -> Error {
    if let Some(problem) = certificate_hint(&error, &OPTION_NAMES) {
        return Failure::Secured(problem).into_error(setup);
    }
    let ((kind, message), said) = match error.as_db_error() {
        None => (unanswered(&error, setup), ErrorChain::of(&error)),
        Some(refusal) => (told(refusal, setup), said(refusal)),
    };
    Error::new(kind, message).with_source(said)
}

/// The server's own words.
fn said(refusal: &DbError) -> ErrorChain {
    let parts = [Some(refusal.message()), refusal.detail(), refusal.hint()];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    ErrorChain(parts.join("; "))
}

/// No word from the server: it cannot be reached, does not speak TLS, or asks for what is not there.
fn unanswered(error: &tokio_postgres::Error, setup: &Setup) -> (ErrorKind, String) {
    let place = &setup.place;
    let mut cause: &dyn std::error::Error = error;
    let mut is_distrust = false;
    while let Some(inner) = cause.source() {
        let io = inner.downcast_ref::<io::Error>();
        is_distrust |= io.is_some_and(|error| error.kind() == io::ErrorKind::InvalidData);
        cause = inner;
    }
    // The crate tells these apart in words only.
    match (error.to_string().as_str(), cause.to_string().as_str()) {
        (_, "password missing") => (
            ErrorKind::Denied,
            format!(
                "{place} wants the password of user {:?}; give it in the URL: {FORM}",
                user(setup)
            ),
        ),
        ("authentication error", _) => (
            ErrorKind::Denied,
            format!(
                "{place} wants user {:?} to get in as this driver cannot; see pg_hba.conf there",
                user(setup)
            ),
        ),
        (_, "server does not support TLS") => (
            ErrorKind::Denied,
            unsecured(place, "turn ssl on there, or write sslmode=prefer"),
        ),
        (summary, _) if is_distrust || summary.contains("TLS") => {
            (ErrorKind::Denied, unsecured(place, "see sslmode"))
        }
        _ => (
            ErrorKind::Unavailable,
            format!("cannot reach the server at {place}; is it running?"),
        ),
    }
}

/// What helps where the server speaks English, and what helps elsewhere.
fn how_to_get_in(words: &str) -> String {
    match words {
        _ if words.contains("certificate") => {
            format!(
                "give a certificate of that user with {}",
                OPTION_NAMES.identity
            )
        }
        _ if words.contains("no encryption") => {
            "it may take secured connections only (sslmode=require); else see pg_hba.conf".into()
        }
        _ => "look at the password and pg_hba.conf".into(),
    }
}

fn unsecured(place: &str, problem: &str) -> String {
    format!("the connection to {place} cannot be secured: {problem}")
}

fn user(setup: &Setup) -> &str {
    let user = setup.config.server.get_user();
    user.unwrap_or("the default user")
}

fn told(refusal: &DbError, setup: &Setup) -> (ErrorKind, String) {
    let (place, user) = (&setup.place, user(setup));
    let database = setup.config.server.get_dbname().unwrap_or(user);
    match refusal.code().code() {
        "28P01" | "28000" => (
            ErrorKind::Denied,
            format!(
                "{place} does not let in user {user:?}; {}",
                how_to_get_in(refusal.message())
            ),
        ),
        "42501" if !is_plain(refusal) => (
            ErrorKind::Denied,
            format!("{place} does not let user {user:?} into {database:?}; grant connect on it"),
        ),
        "42501" => (
            ErrorKind::Denied,
            format!(
                "user {user:?} has no right to that at {place}; grant all on schema {:?}, or let \
                 another user make it",
                setup.config.schema
            ),
        ),
        "3D000" => (
            ErrorKind::Engine,
            format!("the database {database:?} does not exist at {place}; make it (createdb)"),
        ),
        "25006" => (
            ErrorKind::ReadOnly,
            format!("the server at {place} is read-only; is it a standby? name the primary"),
        ),
        "53100" => (
            ErrorKind::Full,
            format!("the disk of {place} is full; nothing was written"),
        ),
        "53300" => (
            ErrorKind::Unavailable,
            format!("{place} has no connection left; raise max_connections or lower snapshots="),
        ),
        "57014" => (
            ErrorKind::Unavailable,
            format!(
                "{place} took longer than {} s; another may be writing (see statement_timeout)",
                setup.config.statement_timeout.as_secs()
            ),
        ),
        "40001" | "40P01" => (
            ErrorKind::Unavailable,
            format!("others were in the way at {place}; try again"),
        ),
        "XX001" | "XX002" => (
            ErrorKind::Corrupt,
            format!("the data at {place} are damaged; restore them from a backup"),
        ),
        "42P01" | "3F000" | "42703" => (
            ErrorKind::WrongVersion,
            format!(
                "the tables in schema {:?} are not there, or not as Espalier makes them",
                setup.config.schema
            ),
        ),
        _ if is_end(refusal.code()) || !is_plain(refusal) => (
            ErrorKind::Unavailable,
            format!("{place} has ended the connection or takes none now"),
        ),
        _ => (ErrorKind::Engine, format!("{place} refused a statement")),
    }
}
