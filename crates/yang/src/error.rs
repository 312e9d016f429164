//! Errors as RFC 6241 Appendix A and RFC 8040 §7.1 shape them.

use std::borrow::Cow;
use std::fmt;

use crate::error_info::{ErrorInfo, ErrorStructure};

/// The layer of an error (RFC 6241 §4.3 `error-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorType {
    /// Secure transport.
    Transport,
    /// Message framing.
    Rpc,
    /// Protocol operation.
    Protocol,
    /// Content.
    #[default]
    Application,
}

/// The `error-tag` values of RFC 6241 Appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorTag {
    /// The resource is in use.
    InUse,
    /// A value is unacceptable.
    InvalidValue,
    /// The request or its response is too large.
    TooBig,
    /// An expected attribute is missing.
    MissingAttribute,
    /// An attribute value is wrong.
    BadAttribute,
    /// An unexpected attribute is present.
    UnknownAttribute,
    /// An expected element is missing.
    MissingElement,
    /// An element value is wrong.
    BadElement,
    /// An unexpected element is present.
    UnknownElement,
    /// An unexpected namespace is present.
    UnknownNamespace,
    /// Access is denied.
    AccessDenied,
    /// The resource is locked.
    LockDenied,
    /// Not enough resources.
    ResourceDenied,
    /// The rollback failed.
    RollbackFailed,
    /// The data exists already.
    DataExists,
    /// The data does not exist.
    DataMissing,
    /// The operation is not supported.
    OperationNotSupported,
    /// The operation failed for another reason.
    OperationFailed,
    /// The message is malformed.
    MalformedMessage,
}

impl ErrorTag {
    /// All tags.
    pub const ALL: [Self; 19] = [
        Self::InUse,
        Self::InvalidValue,
        Self::TooBig,
        Self::MissingAttribute,
        Self::BadAttribute,
        Self::UnknownAttribute,
        Self::MissingElement,
        Self::BadElement,
        Self::UnknownElement,
        Self::UnknownNamespace,
        Self::AccessDenied,
        Self::LockDenied,
        Self::ResourceDenied,
        Self::RollbackFailed,
        Self::DataExists,
        Self::DataMissing,
        Self::OperationNotSupported,
        Self::OperationFailed,
        Self::MalformedMessage,
    ];

    /// The tag with a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| tag.as_str() == name)
    }

    /// The tag as it is written in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InUse => "in-use",
            Self::InvalidValue => "invalid-value",
            Self::TooBig => "too-big",
            Self::MissingAttribute => "missing-attribute",
            Self::BadAttribute => "bad-attribute",
            Self::UnknownAttribute => "unknown-attribute",
            Self::MissingElement => "missing-element",
            Self::BadElement => "bad-element",
            Self::UnknownElement => "unknown-element",
            Self::UnknownNamespace => "unknown-namespace",
            Self::AccessDenied => "access-denied",
            Self::LockDenied => "lock-denied",
            Self::ResourceDenied => "resource-denied",
            Self::RollbackFailed => "rollback-failed",
            Self::DataExists => "data-exists",
            Self::DataMissing => "data-missing",
            Self::OperationNotSupported => "operation-not-supported",
            Self::OperationFailed => "operation-failed",
            Self::MalformedMessage => "malformed-message",
        }
    }
}

impl ErrorType {
    /// The type as it is written in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Rpc => "rpc",
            Self::Protocol => "protocol",
            Self::Application => "application",
        }
    }
}

/// One error in data or in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    /// The layer in which it occurred.
    pub kind: ErrorType,
    /// The `error-tag`.
    pub tag: ErrorTag,
    /// The application's own tag (RFC 7950 §15 or the model's `error-app-tag`).
    pub app_tag: Option<Cow<'static, str>>,
    /// The data node, as an instance identifier in the JSON form of RFC 7951 §6.11; empty if there is none.
    pub path: String,
    /// The line of the document, from 1; 0 if there is no document.
    pub line: u32,
    /// The edit that it is about, of several in one request, from 0.
    pub edit: Option<usize>,
    /// What is wrong and what is expected, in one sentence.
    pub message: String,
    /// The `error-info`, as far as it was given: see [`Self::info`].
    pub given_info: Option<Box<ErrorInfo>>,
}

impl DataError {
    /// Creates an error without a path.
    pub fn new(tag: ErrorTag, message: impl Into<String>) -> Self {
        Self {
            kind: match tag {
                // The only type that RFC 6241, appendix A, gives it.
                ErrorTag::LockDenied => ErrorType::Protocol,
                _ => ErrorType::Application,
            },
            tag,
            app_tag: None,
            path: String::new(),
            line: 0,
            edit: None,
            message: message.into(),
            given_info: None,
        }
    }

    /// The `error-info`. A wrong element, and one with a wrong attribute, is the last of the path, unless another was
    /// given.
    pub fn info(&self) -> ErrorInfo {
        let mut info = self.given_info.as_deref().cloned().unwrap_or_default();
        let is_of_element = matches!(
            self.tag,
            ErrorTag::BadElement
                | ErrorTag::MissingAttribute
                | ErrorTag::BadAttribute
                | ErrorTag::UnknownAttribute
        );
        if is_of_element && info.bad_element.is_none() {
            info.bad_element = last_name(&self.path);
        }
        info
    }

    fn with_info(mut self, change: impl FnOnce(&mut ErrorInfo)) -> Self {
        change(self.given_info.get_or_insert_default());
        self
    }

    /// Sets `bad-element`: the element that is wrong, missing or unknown.
    #[must_use]
    pub fn on_element(self, name: impl Into<String>) -> Self {
        self.with_info(|info| info.bad_element = Some(name.into()))
    }

    /// Sets `bad-attribute`.
    #[must_use]
    pub fn on_attribute(self, name: impl Into<String>) -> Self {
        self.with_info(|info| info.bad_attribute = Some(name.into()))
    }

    /// Sets `bad-namespace`.
    #[must_use]
    pub fn in_namespace(self, name: impl Into<String>) -> Self {
        self.with_info(|info| info.bad_namespace = Some(name.into()))
    }

    /// Sets `session-id`: the session that holds the lock.
    #[must_use]
    pub fn held_by(self, session: impl Into<String>) -> Self {
        self.with_info(|info| info.session_id = Some(session.into()))
    }

    /// Sets `missing-choice`.
    #[must_use]
    pub fn of_choice(self, name: impl Into<String>) -> Self {
        self.with_info(|info| info.missing_choice = Some(name.into()))
    }

    /// Sets `non-unique`.
    #[must_use]
    pub fn of_leaves(self, paths: Vec<String>) -> Self {
        self.with_info(|info| info.non_unique = paths)
    }

    /// Sets the structure in `error-info`.
    #[must_use]
    pub fn with_structure(self, structure: ErrorStructure) -> Self {
        self.with_info(|info| info.structure = Some(Box::new(structure)))
    }

    /// Sets the path of the data node.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the line of the document.
    #[must_use]
    pub fn on_line(mut self, line: u32) -> Self {
        self.line = line;
        self
    }

    /// Sets the `error-app-tag`.
    #[must_use]
    pub fn with_app_tag(mut self, tag: impl Into<Cow<'static, str>>) -> Self {
        self.app_tag = Some(tag.into());
        self
    }

    /// Sets the `error-type`.
    #[must_use]
    pub fn of_type(mut self, kind: ErrorType) -> Self {
        self.kind = kind;
        self
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{} ({})", self.message, self.tag.as_str())
    }
}

impl std::error::Error for DataError {}

/// The name of the last node of an instance identifier, without its module.
fn last_name(path: &str) -> Option<String> {
    let mut quote = None;
    let (mut start, mut end) = (None, path.len());
    let mut depth = 0;
    for (at, character) in path.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => {
                if depth == 0 {
                    end = at;
                }
                depth += 1;
            }
            (None, ']') => depth -= 1,
            (None, '/') if depth == 0 => (start, end) = (Some(at + 1), path.len()),
            (None, _) => {}
        }
    }
    let name = path.get(start?..end)?;
    let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Errors beyond this number are counted but not stored.
pub const ERRORS_MAX: usize = 100;

/// All errors of one document or request, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    errors: Vec<DataError>,
    dropped: usize,
}

impl Errors {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error; beyond [`ERRORS_MAX`] it is only counted.
    pub fn push(&mut self, error: DataError) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        } else {
            self.dropped += 1;
        }
    }

    /// Adds to the number of errors that are counted but not stored.
    pub fn count_more(&mut self, count: usize) {
        self.dropped += count;
    }

    /// Appends the errors of another collection.
    pub fn append(&mut self, other: Self) {
        self.dropped += other.dropped;
        other.errors.into_iter().for_each(|error| self.push(error));
    }

    /// Sorts the errors by path; the sort is stable.
    pub fn sort(&mut self) {
        self.errors.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Applies `change` to each stored error.
    #[must_use]
    pub fn map(mut self, change: impl FnMut(DataError) -> DataError) -> Self {
        self.errors = self.errors.into_iter().map(change).collect();
        self
    }

    /// The same, about an edit.
    #[must_use]
    pub fn of_edit(self, number: usize) -> Self {
        self.map(|error| DataError {
            edit: Some(number),
            ..error
        })
    }

    /// The stored errors.
    pub fn iter(&self) -> std::slice::Iter<'_, DataError> {
        self.errors.iter()
    }

    /// The number of errors, including those not stored.
    pub fn len(&self) -> usize {
        self.errors.len() + self.dropped
    }

    /// Returns whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns `Ok` if there are no errors.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl From<DataError> for Errors {
    fn from(error: DataError) -> Self {
        Self {
            errors: vec![error],
            dropped: 0,
        }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        if self.dropped > 0 {
            write!(f, "\nand {} more", self.dropped)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_element_is_the_last_of_the_path() {
        for (path, expected) in [
            ("/m:a", Some("a")),
            ("/m:a/b", Some("b")),
            ("/m:a/n:b[k='x/y:z']", Some("b")),
            ("/m:a/b[k=\"]'/\"][l='[']/c", Some("c")),
            ("/m:a/b[.='/x']", Some("b")),
            ("/", None),
            ("", None),
        ] {
            let error = DataError::new(ErrorTag::BadElement, "wrong").at(path);
            assert_eq!(error.info().bad_element.as_deref(), expected, "{path}");
        }
        let error = DataError::new(ErrorTag::InvalidValue, "wrong").at("/m:a");
        assert!(error.info().is_empty());
        let error = DataError::new(ErrorTag::BadElement, "wrong").on_element("x");
        assert_eq!(error.at("/m:a").info().bad_element.as_deref(), Some("x"));
    }
}
