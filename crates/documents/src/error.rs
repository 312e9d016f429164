//! What can go wrong with documents.

use std::borrow::Cow;
use std::sync::Arc;

/// The result of an operation on documents.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of error it is; what a caller decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for makes no sense: a range query for an index that there is not, a name
    /// without letters.
    Argument,
    /// What was given cannot be read as JSON, or as what is expected.
    Syntax,
    /// A named limit (see [`crate::limits`]) would be passed.
    Limit,
    /// There is no such collection, index or document.
    Missing,
    /// There is a collection of this name already, or a document of this key.
    Exists,
    /// Another document has this value of a unique index.
    Unique,
    /// A trigger of the program refused the change.
    Vetoed,
    /// The document is not the one that the caller expected.
    Changed,
    /// The indexes or the schema version of the collection are not those of this program.
    Definition,
    /// The index is being built.
    Building,
    /// A document cannot be stored, or a stored one cannot be read as this type.
    Document,
    /// A stored row is not what this version of the code wrote.
    Corrupt,
    /// The key space refused or failed.
    Keyspace,
}

/// Two documents that would have the same value of a unique index.
#[derive(Clone, Debug, PartialEq)]
pub struct Clash {
    /// The index.
    pub index: String,
    /// The value, as people write it.
    pub value: String,
    /// The key of the document that has it.
    pub key: u64,
    /// The key of the document that would have it too.
    pub other: u64,
}

/// Characters of a value that a sentence shows.
const VALUE_CHARACTERS_MAX: usize = 80;

/// An error of documents: a kind and a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    clash: Option<Box<Clash>>,
    #[source]
    source: Option<Arc<espalier_keyspace::Error>>,
}

impl Error {
    /// An error of `kind`, with a sentence that says what to do.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            clash: None,
            source: None,
        }
    }

    pub(crate) fn argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Argument, message)
    }

    pub(crate) fn limit(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    pub(crate) fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    pub(crate) fn definition(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Definition, message)
    }

    /// There is no document of this key.
    pub(crate) fn no_document(collection: &str, key: u64) -> Self {
        let message = format!("there is no document {key} in {collection:?}");
        Self::new(ErrorKind::Missing, message)
    }

    /// Another document has the value.
    pub(crate) fn unique(clash: Clash) -> Self {
        let message = format!(
            "index {:?} is unique, and document {} has the value {} already",
            clash.index,
            clash.key,
            shortened(&clash.value)
        );
        let mut error = Self::new(ErrorKind::Unique, message);
        error.clash = Some(Box::new(clash));
        error
    }

    /// An error of the key space that several are told.
    pub(crate) fn shared(error: Arc<espalier_keyspace::Error>) -> Self {
        Self {
            kind: ErrorKind::Keyspace,
            message: error.to_string().into(),
            clash: None,
            source: Some(error),
        }
    }

    /// The same error, with the place where it happened before its sentence.
    #[must_use]
    pub(crate) fn at(mut self, place: impl std::fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message).into();
        self
    }

    /// The same error, with what follows from it after its sentence.
    #[must_use]
    pub(crate) fn and(mut self, what: impl std::fmt::Display) -> Self {
        self.message = format!("{}; {what}", self.message).into();
        self
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Which documents would have the same value, for [`ErrorKind::Unique`].
    pub fn clash(&self) -> Option<&Clash> {
        self.clash.as_deref()
    }

    /// The error of the key space, where it is one.
    pub fn keyspace(&self) -> Option<&espalier_keyspace::Error> {
        self.source.as_deref()
    }

    /// Whether this says that a stored document cannot be read.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.kind, ErrorKind::Document | ErrorKind::Corrupt)
    }

    /// Whether the same call may succeed when tried again.
    pub fn is_retryable(&self) -> bool {
        self.keyspace()
            .is_some_and(espalier_keyspace::Error::is_retryable)
    }

    /// Whether somebody else was faster, so that the same work may be tried again.
    pub(crate) fn is_overtaken(&self) -> bool {
        use espalier_keyspace::ErrorKind::{Conflict, SnapshotTooOld};
        let kind = self.keyspace().map(espalier_keyspace::Error::kind);
        matches!(kind, Some(Conflict | SnapshotTooOld))
    }
}

impl From<espalier_keyspace::Error> for Error {
    fn from(error: espalier_keyspace::Error) -> Self {
        Self::shared(Arc::new(error))
    }
}

/// A value may be long; the beginning tells it from others well enough in a sentence.
fn shortened(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(VALUE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}... ({} bytes)", &value[..end], value.len()).into(),
        None => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_shortened_in_the_sentence_only() {
        let clash = |value: String| Clash {
            index: "name".to_owned(),
            value,
            key: 7,
            other: 8,
        };
        let short = Error::unique(clash("\"short\"".to_owned())).to_string();
        assert!(
            short.ends_with("document 7 has the value \"short\" already"),
            "{short}"
        );
        let long = "\u{e9}".repeat(50_000);
        let error = Error::unique(clash(long.clone()));
        let sentence = error.to_string();
        assert!(sentence.chars().count() < 200, "{sentence}");
        assert!(
            sentence.contains("... (100000 bytes) already"),
            "{sentence}"
        );
        assert_eq!(
            error.clash().map(|clash| clash.value.as_str()),
            Some(long.as_str())
        );
    }
}
