//! Errors of documents.

use std::borrow::Cow;
use std::sync::Arc;

/// The result of an operation on documents.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error, for decisions of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is invalid: for example a query of an index that does not exist, or an empty name.
    Argument,
    /// The input is not JSON, or not of the expected form.
    Syntax,
    /// A limit (see [`crate::limits`]) would be exceeded.
    Limit,
    /// The collection, index or document does not exist.
    Missing,
    /// A collection with this name, or a document with this key, already exists.
    Exists,
    /// Another document has this value of a unique index.
    Unique,
    /// A trigger of the program rejected the change.
    RejectedByTrigger,
    /// The document is not the expected one.
    Changed,
    /// The indexes or the schema version of the collection are not those of this program.
    Definition,
    /// The index is being built.
    Building,
    /// A document cannot be stored, or a stored one cannot be read as this type.
    Document,
    /// A stored row is not one that this version of the code writes.
    Corrupt,
    /// An error of the key space.
    Keyspace,
}

/// Two documents that would have the same value of a unique index.
#[derive(Clone, Debug, PartialEq)]
pub struct UniqueConflict {
    /// The index.
    pub index: String,
    /// The value, formatted for people.
    pub value: String,
    /// The key of the document that already has it.
    pub key: u64,
    /// The key of the document that was rejected.
    pub other: u64,
}

/// The maximum number of characters of a value in a message.
const VALUE_CHARACTERS_MAX: usize = 80;

/// An error of documents: a kind and a message.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    clash: Option<Box<UniqueConflict>>,
    #[source]
    source: Option<Arc<espalier_keyspace::Error>>,
}

impl Error {
    /// An error of `kind`, with a message that includes what to do.
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

    /// No document has this key.
    pub(crate) fn no_document(collection: &str, key: u64) -> Self {
        let message = format!("there is no document {key} in {collection:?}");
        Self::new(ErrorKind::Missing, message)
    }

    /// Another document has the value.
    pub(crate) fn unique(clash: UniqueConflict) -> Self {
        let message = format!(
            "index {:?} is unique, but document {} already has the value {}",
            clash.index,
            clash.key,
            shortened(&clash.value)
        );
        let mut error = Self::new(ErrorKind::Unique, message);
        error.clash = Some(Box::new(clash));
        error
    }

    /// An error of the key space that several callers get.
    pub(crate) fn shared(error: Arc<espalier_keyspace::Error>) -> Self {
        Self {
            kind: ErrorKind::Keyspace,
            message: error.to_string().into(),
            clash: None,
            source: Some(error),
        }
    }

    /// The same error, with a place before its message.
    #[must_use]
    pub(crate) fn at(mut self, place: impl std::fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message).into();
        self
    }

    /// The same error, with a consequence after its message.
    #[must_use]
    pub(crate) fn and(mut self, what: impl std::fmt::Display) -> Self {
        self.message = format!("{}; {what}", self.message).into();
        self
    }

    /// The kind of this error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The documents with the same value, for [`ErrorKind::Unique`].
    pub fn clash(&self) -> Option<&UniqueConflict> {
        self.clash.as_deref()
    }

    /// The underlying error of the key space, if any.
    pub fn keyspace(&self) -> Option<&espalier_keyspace::Error> {
        self.source.as_deref()
    }

    /// Whether a stored document is unreadable.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self.kind, ErrorKind::Document | ErrorKind::Corrupt)
    }

    /// Whether the same call may succeed if it is retried.
    pub fn is_retryable(&self) -> bool {
        self.keyspace()
            .is_some_and(espalier_keyspace::Error::is_retryable)
    }
}

impl espalier_keyspace::KeyspaceCause for Error {
    fn keyspace(&self) -> Option<&espalier_keyspace::Error> {
        self.source.as_deref()
    }
}

impl From<espalier_keyspace::Error> for Error {
    fn from(error: espalier_keyspace::Error) -> Self {
        Self::shared(Arc::new(error))
    }
}

/// A long value is shortened in a message; its beginning identifies it well enough.
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
    fn a_long_value_is_shortened_in_the_message_only() {
        let clash = |value: String| UniqueConflict {
            index: "name".to_owned(),
            value,
            key: 7,
            other: 8,
        };
        let short = Error::unique(clash("\"short\"".to_owned())).to_string();
        assert!(
            short.ends_with("document 7 already has the value \"short\""),
            "{short}"
        );
        let long = "\u{e9}".repeat(50_000);
        let error = Error::unique(clash(long.clone()));
        let sentence = error.to_string();
        assert!(sentence.chars().count() < 200, "{sentence}");
        assert!(sentence.contains("... (100000 bytes)"), "{sentence}");
        assert_eq!(
            error.clash().map(|clash| clash.value.as_str()),
            Some(long.as_str())
        );
    }
}
