//! Errors of the audit log.

use std::io;
use std::sync::Arc;

use espalier_keyspace::{Error as EngineError, KeyspaceCause};

/// An error of the audit log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The engine failed.
    #[error("the audit log cannot be read: {0}")]
    Engine(#[from] EngineError),
    /// The engine failed to store records. Several callers get the same error, because their records are
    /// committed together.
    #[error("the audit record was not stored: {0}; the audited operation may have been executed")]
    NotStored(Arc<EngineError>),
    /// The log was closed before the call.
    #[error("the audit record was not stored, because the audit log is closed")]
    Closed,
    /// A thread of the log failed.
    #[error("the audit record was not stored: the thread that committed it failed")]
    Interrupted,
    /// Writing records to a file or a socket failed, or a thread could not be started.
    #[error("audit records cannot be written: {0}")]
    Io(#[from] io::Error),
    /// The stored settings cannot be read by this version.
    #[error("the stored settings of the audit log are not readable by this version: {0}")]
    Settings(String),
    /// Requested settings are not accepted.
    #[error("these are no settings of the audit log: {0}")]
    InvalidSettings(String),
    /// A record could not be converted to JSON.
    #[error("an audit record cannot be converted to JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl KeyspaceCause for AuditError {
    fn keyspace(&self) -> Option<&EngineError> {
        match self {
            Self::Engine(error) => Some(error),
            Self::NotStored(error) => Some(error),
            _ => None,
        }
    }
}
