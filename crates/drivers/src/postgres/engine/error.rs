//! Converts the server's errors to errors of the key space.

use std::fmt;
use std::io;
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind};
use tokio_postgres::error::{DbError, Severity, SqlState};

use super::setup::Setup;
use crate::error_chain::ErrorChain;
use crate::postgres::config::URL_FORM;
use crate::tls_hints::{CaCertificateUse, OptionNames, certificate_hint};

/// The names of the options for certificates, for messages.
const OPTION_NAMES: OptionNames = OptionNames {
    authority: "sslrootcert=FILE",
    identity: "sslcert=FILE&sslkey=FILE",
    ca_use: CaCertificateUse::AuthorityOrServer,
};

/// Why a call to the server failed.
#[derive(Debug)]
pub(in crate::postgres) enum Failure {
    /// The server or the client library returned an error.
    Database(tokio_postgres::Error),
    /// No response within this time.
    Timeout(Duration),
    /// An I/O error of this process, or a connection that is not open.
    Io(io::Error),
    /// TLS cannot be established.
    Tls(String),
    /// The stored data is not what this driver writes.
    Corrupt(&'static str),
}

impl Failure {
    fn state(&self) -> Option<&SqlState> {
        match self {
            Self::Database(error) => error.code(),
            _ => None,
        }
    }

    /// Returns whether the server rejected a statement and the connection is still usable. The transaction is
    /// aborted then.
    pub(in crate::postgres) fn is_refusal(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        let severity = error
            .as_db_error()
            .and_then(|error| error.parsed_severity());
        matches!(severity, Some(Severity::Error))
    }

    /// Returns the failure as an error, unless it is a refusal.
    pub(in crate::postgres) fn unless_refusal(self) -> Result<(), Self> {
        if self.is_refusal() { Ok(()) } else { Err(self) }
    }

    /// Returns whether a concurrent transaction conflicted: a serialization failure or a deadlock.
    pub(in crate::postgres) fn is_conflict(&self) -> bool {
        matches!(
            self.state(),
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
        )
    }

    /// Returns whether a table or schema does not exist.
    pub(in crate::postgres) fn is_missing(&self) -> bool {
        matches!(
            self.state(),
            Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME)
        )
    }

    /// Returns whether a table or schema exists already, or another process is creating it.
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

    /// Returns whether the server is starting and does not accept connections yet.
    pub(in crate::postgres) fn is_starting(&self) -> bool {
        matches!(self.state(), Some(&SqlState::CANNOT_CONNECT_NOW))
    }

    /// Returns whether the connection was lost or could not be established.
    pub(in crate::postgres) fn is_connection_lost(&self) -> bool {
        match self {
            Self::Database(error) => match error.as_db_error() {
                Some(db_error) => !is_statement_error(db_error) && ends_connection(db_error.code()),
                None => true,
            },
            Self::Timeout(_) | Self::Io(_) => true,
            Self::Tls(_) | Self::Corrupt(_) => false,
        }
    }

    /// Converts the failure to an error of the key space.
    pub(in crate::postgres) fn into_error(self, setup: &Setup) -> Error {
        let address = &setup.address;
        match self {
            Self::Timeout(after) => Error::new(
                ErrorKind::Unavailable,
                format!("{address} does not answer (waited {} s)", after.as_secs()),
            ),
            Self::Io(error) => Error::new(
                ErrorKind::Unavailable,
                format!("the connection to {address} was lost"),
            )
            .with_source(error),
            Self::Tls(problem) => Error::new(ErrorKind::Denied, tls_message(address, &problem)),
            Self::Corrupt(problem) => Error::new(
                ErrorKind::Corrupt,
                format!("the data at {address}: {problem}"),
            ),
            Self::Database(error) => database_error(error, setup),
        }
    }
}

/// Returns whether only a statement failed, and the connection is still usable.
fn is_statement_error(db_error: &DbError) -> bool {
    db_error
        .parsed_severity()
        .map_or(db_error.severity() == "ERROR", |severity| {
            severity == Severity::Error
        })
}

/// Returns whether a server with this state has ended the connection for a reason of its own.
fn ends_connection(state: &SqlState) -> bool {
    let code = state.code();
    code.starts_with("57P") || code.starts_with("08") || code.starts_with("25P") || code == "53300"
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => match error.as_db_error() {
                Some(db_error) => write!(f, "{}", db_error.message()),
                None => write!(f, "{error}"),
            },
            Self::Timeout(after) => write!(f, "no answer in {} s", after.as_secs()),
            Self::Io(error) => write!(f, "{error}"),
            Self::Tls(problem) => f.write_str(problem),
            Self::Corrupt(problem) => f.write_str(problem),
        }
    }
}

fn database_error(error: tokio_postgres::Error, setup: &Setup) -> Error {
    if let Some(problem) = certificate_hint(&error, &OPTION_NAMES) {
        return Failure::Tls(problem).into_error(setup);
    }
    let ((kind, message), source) = match error.as_db_error() {
        None => (connection_error(&error, setup), ErrorChain::of(&error)),
        Some(refusal) => (classify(refusal, setup), server_message(refusal)),
    };
    Error::new(kind, message).with_source(source)
}

/// The server's message, with its detail and hint.
fn server_message(refusal: &DbError) -> ErrorChain {
    let parts = [Some(refusal.message()), refusal.detail(), refusal.hint()];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    ErrorChain(parts.join("; "))
}

/// Classifies an error without a message of the server: it is unreachable, does not support TLS, or requires
/// credentials that are not given.
fn connection_error(error: &tokio_postgres::Error, setup: &Setup) -> (ErrorKind, String) {
    let address = &setup.address;
    let mut cause: &dyn std::error::Error = error;
    let mut is_tls_error = false;
    while let Some(inner) = cause.source() {
        let io = inner.downcast_ref::<io::Error>();
        is_tls_error |= io.is_some_and(|error| error.kind() == io::ErrorKind::InvalidData);
        cause = inner;
    }
    // The crate distinguishes these only by their texts.
    match (error.to_string().as_str(), cause.to_string().as_str()) {
        (_, "password missing") => (
            ErrorKind::Denied,
            format!(
                "{address} requires the password of user {:?}; give it in the URL: {URL_FORM}",
                user(setup)
            ),
        ),
        ("authentication error", _) => (
            ErrorKind::Denied,
            format!(
                "{address} requires an authentication method for user {:?} that this driver does not support; \
                 see pg_hba.conf there",
                user(setup)
            ),
        ),
        (_, "server does not support TLS") => (
            ErrorKind::Denied,
            tls_message(address, "turn ssl on there, or write sslmode=prefer"),
        ),
        (summary, _) if is_tls_error || summary.contains("TLS") => {
            (ErrorKind::Denied, tls_message(address, "see sslmode"))
        }
        _ => (
            ErrorKind::Unavailable,
            format!("cannot reach the server at {address}; is it running?"),
        ),
    }
}

/// Advice for a rejected login, by the server's message if it is in English.
fn login_advice(words: &str) -> String {
    match words {
        _ if words.contains("certificate") => {
            format!(
                "give a certificate of that user with {}",
                OPTION_NAMES.identity
            )
        }
        _ if words.contains("no encryption") => {
            "it may accept only TLS connections (sslmode=require); else see pg_hba.conf".into()
        }
        _ => "check the password and pg_hba.conf".into(),
    }
}

fn tls_message(address: &str, problem: &str) -> String {
    format!("the connection to {address} cannot be secured: {problem}")
}

fn user(setup: &Setup) -> &str {
    let user = setup.config.server.get_user();
    user.unwrap_or("the default user")
}

fn classify(refusal: &DbError, setup: &Setup) -> (ErrorKind, String) {
    let (address, user) = (&setup.address, user(setup));
    let database = setup.config.server.get_dbname().unwrap_or(user);
    match refusal.code().code() {
        "28P01" | "28000" => (
            ErrorKind::Denied,
            format!(
                "{address} rejects user {user:?}; {}",
                login_advice(refusal.message())
            ),
        ),
        "42501" if !is_statement_error(refusal) => (
            ErrorKind::Denied,
            format!(
                "{address} does not let user {user:?} connect to database {database:?}; grant connect on it"
            ),
        ),
        "42501" => (
            ErrorKind::Denied,
            format!(
                "user {user:?} may not do this at {address}; grant all on schema {:?}, or let another user create it",
                setup.config.schema
            ),
        ),
        "3D000" => (
            ErrorKind::Engine,
            format!("the database {database:?} does not exist at {address}; create it (createdb)"),
        ),
        "25006" => (
            ErrorKind::ReadOnly,
            format!("the server at {address} is read-only; is it a standby? name the primary"),
        ),
        "53100" => (
            ErrorKind::Full,
            format!("the disk of {address} is full; nothing was written"),
        ),
        "53300" => (
            ErrorKind::Unavailable,
            format!("{address} has no connection left; raise max_connections or lower snapshots="),
        ),
        "57014" => (
            ErrorKind::Unavailable,
            format!(
                "a statement at {address} took longer than {} s; another process may hold the lock \
                 (see statement_timeout)",
                setup.config.statement_timeout.as_secs()
            ),
        ),
        "40001" | "40P01" => (
            ErrorKind::Unavailable,
            format!("a concurrent transaction conflicted at {address}; retry"),
        ),
        "XX001" | "XX002" => (
            ErrorKind::Corrupt,
            format!("the data at {address} is damaged; restore it from a backup"),
        ),
        "42P01" | "3F000" | "42703" => (
            ErrorKind::WrongVersion,
            format!(
                "the tables in schema {:?} are missing, or not as Espalier makes them",
                setup.config.schema
            ),
        ),
        _ if ends_connection(refusal.code()) || !is_statement_error(refusal) => (
            ErrorKind::Unavailable,
            format!("{address} closed the connection or does not accept any now"),
        ),
        _ => (ErrorKind::Engine, format!("{address} refused a statement")),
    }
}
