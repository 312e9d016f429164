//! Errors of statistics.

use std::borrow::Cow;
use std::sync::Arc;

/// The result of an operation on statistics.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error, for decisions of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input cannot be parsed: a granularity, a path, a number, an expression, a line.
    Syntax,
    /// The input is syntactically valid, but not meaningful: for example a range that ends before it begins.
    Argument,
    /// A limit (see [`crate::limits`]) would be exceeded.
    Limit,
    /// A sum would leave the range of exact numbers, or of finite floats.
    Overflow,
    /// The store has buckets of another time zone or first day of weeks.
    Settings,
    /// A stored row is not one that this version of the code writes.
    Corrupt,
    /// An error of the key space.
    Keyspace,
}

/// An error of statistics: a kind and a message, with the place in the input if there is one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    #[source]
    source: Option<Arc<espalier_keyspace::Error>>,
}

impl Error {
    /// An error of `kind`, with a message that includes what to do.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// The input cannot be parsed.
    pub(crate) fn syntax(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Syntax, message)
    }

    /// The input is not meaningful.
    pub(crate) fn argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Argument, message)
    }

    /// A limit would be exceeded.
    pub(crate) fn limit(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// A stored row cannot be read.
    pub(crate) fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// The same error, with a place before its message.
    #[must_use]
    pub(crate) fn at(mut self, place: impl std::fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message).into();
        self
    }

    /// A copy of the error, for another caller that waited for the same result.
    pub(crate) fn again(&self) -> Self {
        Self {
            kind: self.kind,
            message: self.message.clone(),
            source: self.source.clone(),
        }
    }

    /// The kind of this error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The underlying error of the key space, if any.
    pub fn keyspace(&self) -> Option<&espalier_keyspace::Error> {
        self.source.as_deref()
    }
}

impl From<espalier_keyspace::Error> for Error {
    fn from(error: espalier_keyspace::Error) -> Self {
        Self {
            kind: ErrorKind::Keyspace,
            message: error.to_string().into(),
            source: Some(Arc::new(error)),
        }
    }
}

impl espalier_keyspace::KeyspaceCause for Error {
    fn keyspace(&self) -> Option<&espalier_keyspace::Error> {
        self.source.as_deref()
    }
}
