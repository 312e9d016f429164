//! What can go wrong with statistics.

use std::borrow::Cow;
use std::sync::Arc;

/// The result of an operation on statistics.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of error it is; what a caller decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for cannot be read: a granularity, a path, a number, an expression, a line.
    Syntax,
    /// What was asked for can be read and makes no sense: a range that ends before it begins.
    Argument,
    /// A named limit (see [`crate::limits`]) would be passed.
    Limit,
    /// A sum would leave the range of exact numbers, or of finite floats.
    Overflow,
    /// The store has buckets of another time zone or beginning of week.
    Settings,
    /// A stored row is not what this version of the code wrote.
    Corrupt,
    /// The key space refused or failed.
    Keyspace,
}

/// An error of statistics: a kind and a sentence, with the place in the input where there is one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    #[source]
    source: Option<Arc<espalier_keyspace::Error>>,
}

impl Error {
    /// An error of `kind`, with a sentence that says what to do.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// What was given cannot be read.
    pub(crate) fn syntax(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Syntax, message)
    }

    /// What was given makes no sense.
    pub(crate) fn argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Argument, message)
    }

    /// A named limit would be passed.
    pub(crate) fn limit(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// A stored row cannot be read.
    pub(crate) fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// The same error, with the place where it happened before its sentence.
    #[must_use]
    pub(crate) fn at(mut self, place: impl std::fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message).into();
        self
    }

    /// The same error once more, for another who waited for the same thing.
    pub(crate) fn again(&self) -> Self {
        Self {
            kind: self.kind,
            message: self.message.clone(),
            source: self.source.clone(),
        }
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The error of the key space, where it is one.
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
