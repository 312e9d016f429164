//! Errors of a key space, independent of the engine.

use std::borrow::Cow;
use std::fmt;

/// The result of a key space operation.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an [`Error`], for callers to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A precondition does not hold. Take a new snapshot, decide again, retry.
    Conflict,
    /// A key is longer than [`crate::KEY_BYTES_MAX`] or empty.
    KeyTooLong,
    /// A value is longer than [`crate::VALUE_BYTES_MAX`].
    ValueTooLong,
    /// A batch is larger than the driver's limit.
    BatchTooLarge,
    /// An `add` overflowed `i64`, or the value is not a counter.
    Overflow,
    /// The disk, the map or the quota is full. Nothing was written.
    Full,
    /// The engine or the directory is read-only.
    ReadOnly,
    /// The stored bytes are not what this version of the code wrote.
    Corrupt,
    /// Another process has locked the engine.
    Locked,
    /// The engine cannot be reached or did not answer in time. Nothing was written. Retryable.
    Unavailable,
    /// The connection broke during a commit, and it is unknown whether the commit was applied. Read before
    /// retrying.
    OutcomeUnknown,
    /// The engine no longer keeps the state of the snapshot. Take a new one, decide again.
    SnapshotTooOld,
    /// The engine rejects this user, or the user lacks a permission.
    Denied,
    /// The engine or its data has a version that this code does not support, or does not belong to
    /// Espalier. Nothing was changed.
    WrongVersion,
    /// The caller's fill function failed; nothing was written.
    Aborted,
    /// Another error of the engine.
    Engine,
}

/// An error of a key space: kind, message, and the affected key, if any.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    key: Option<Vec<u8>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error of `kind`. The message is one sentence that includes the remedy.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            key: None,
            source: None,
        }
    }

    /// Adds the affected key.
    #[must_use]
    pub fn with_key(mut self, key: &[u8]) -> Self {
        self.key = Some(key.to_vec());
        self
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// The conflict on `key`.
    pub fn conflict(key: &[u8]) -> Self {
        Self::new(ErrorKind::Conflict, "a precondition does not hold any more").with_key(key)
    }

    /// The kind of this error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The affected key, if any.
    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    /// Returns whether another writer was faster: a new snapshot may lead to another decision.
    pub fn is_conflict(&self) -> bool {
        matches!(self.kind, ErrorKind::Conflict | ErrorKind::SnapshotTooOld)
    }

    /// Returns whether the same call may succeed on a retry.
    pub fn is_retryable(&self) -> bool {
        use ErrorKind::{Conflict, SnapshotTooOld, Unavailable};
        matches!(self.kind, Conflict | SnapshotTooOld | Unavailable)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(key) = &self.key {
            write!(f, " (key {})", key.escape_ascii())?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
