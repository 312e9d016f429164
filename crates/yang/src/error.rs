//! Errors as RFC 6241 Appendix A and RFC 8040 §7.1 shape them.

use std::borrow::Cow;
use std::fmt;

/// Where an error occurred (RFC 6241 §4.3 `error-type`).
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
    /// The resource is used by somebody else.
    InUse,
    /// A value is unacceptable.
    InvalidValue,
    /// The request or its answer is too large.
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
    /// The tag as it stands in messages.
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
    /// The type as it stands in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Rpc => "rpc",
            Self::Protocol => "protocol",
            Self::Application => "application",
        }
    }
}

/// One error in data or in a request for data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    /// Where it occurred.
    pub kind: ErrorType,
    /// What kind of error it is.
    pub tag: ErrorTag,
    /// The application's own tag (RFC 7950 §15 or the model's `error-app-tag`).
    pub app_tag: Option<Cow<'static, str>>,
    /// The data node concerned, as an instance identifier in the JSON form of RFC 7951 §6.11;
    /// empty where there is none.
    pub path: String,
    /// The line of the document, from 1; 0 where there is no document.
    pub line: u32,
    /// What is wrong and what would be right, in a sentence.
    pub message: String,
}

impl DataError {
    /// An error without a place yet.
    pub fn new(tag: ErrorTag, message: impl Into<String>) -> Self {
        Self {
            kind: ErrorType::Application,
            tag,
            app_tag: None,
            path: String::new(),
            line: 0,
            message: message.into(),
        }
    }

    /// The same error, at a data node.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// The same error, on a line of a document.
    #[must_use]
    pub fn on_line(mut self, line: u32) -> Self {
        self.line = line;
        self
    }

    /// The same error, with an `error-app-tag`.
    #[must_use]
    pub fn with_app_tag(mut self, tag: impl Into<Cow<'static, str>>) -> Self {
        self.app_tag = Some(tag.into());
        self
    }

    /// The same error, of another `error-type`.
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

/// Errors beyond this number are counted but not kept.
pub const ERRORS_MAX: usize = 100;

/// Every error of one document or request, in the order they were met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    errors: Vec<DataError>,
    dropped: usize,
}

impl Errors {
    /// No errors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error; past [`ERRORS_MAX`] it is only counted.
    pub fn push(&mut self, error: DataError) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        } else {
            self.dropped += 1;
        }
    }

    /// Counts errors that are not kept, beside some that are.
    pub fn count_more(&mut self, count: usize) {
        self.dropped += count;
    }

    /// Adds the errors of another part.
    pub fn append(&mut self, other: Self) {
        self.dropped += other.dropped;
        other.errors.into_iter().for_each(|error| self.push(error));
    }

    /// Brings the errors into the order of their paths; those of one path stay as they came.
    pub fn sort(&mut self) {
        self.errors.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// The same errors, each as `change` makes it.
    #[must_use]
    pub fn map(mut self, change: impl FnMut(DataError) -> DataError) -> Self {
        self.errors = self.errors.into_iter().map(change).collect();
        self
    }

    /// The errors that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, DataError> {
        self.errors.iter()
    }

    /// How many there were, including those not kept.
    pub fn len(&self) -> usize {
        self.errors.len() + self.dropped
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// `Ok` where there were none.
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
