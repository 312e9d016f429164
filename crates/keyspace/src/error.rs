//! What can go wrong in a key space, whatever the engine.

use std::borrow::Cow;
use std::fmt;

/// The result of a key space operation.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an [`Error`]; what a caller decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A precondition did not hold. Take a new snapshot, decide again, retry.
    Conflict,
    /// A key is longer than [`crate::KEY_BYTES_MAX`] or empty.
    KeyTooLong,
    /// A value is longer than [`crate::VALUE_BYTES_MAX`].
    ValueTooLong,
    /// A batch is larger than the driver's limit.
    BatchTooLarge,
    /// An `add` went over the range of `i64`, or met a value that is not a counter.
    Overflow,
    /// The disk, the map or the quota is full. Nothing was written.
    Full,
    /// The engine or the directory is read-only.
    ReadOnly,
    /// The stored bytes are not what this version of the code wrote.
    Corrupt,
    /// Another process holds the engine in a way that excludes this one.
    Locked,
    /// The engine cannot be reached or did not answer in time. Nothing was written. Retryable.
    Unavailable,
    /// The connection broke while a commit was under way, and whether it happened could not be
    /// found out. Read before trying again.
    OutcomeUnknown,
    /// The engine does not keep what the snapshot shows any more. Take a new one, decide again.
    SnapshotTooOld,
    /// The engine does not let this user in, or not do this.
    Denied,
    /// The engine, or what is stored in it, is of a version that this code does not know, or not
    /// Espalier's at all. Nothing was changed.
    WrongVersion,
    /// The caller's fill function gave up; nothing was written.
    Aborted,
    /// The engine's own error, none of the above.
    Engine,
}

/// An error of a key space: kind, a sentence, and the key it is about where there is one.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    key: Option<Vec<u8>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` with a sentence that says what to do.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            key: None,
            source: None,
        }
    }

    /// The same error, naming the key it is about.
    #[must_use]
    pub fn with_key(mut self, key: &[u8]) -> Self {
        self.key = Some(key.to_vec());
        self
    }

    /// The same error, with the engine's error that caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// The conflict on `key`.
    pub fn conflict(key: &[u8]) -> Self {
        Self::new(ErrorKind::Conflict, "a precondition does not hold any more").with_key(key)
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The key that the error is about, where there is one.
    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    /// Whether the same call may succeed when tried again.
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
