//! Outcomes of operations, and the state that they leave, in a form that every front end can produce.

use serde_json::Value as Json;

/// The outcome of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It succeeded, with this result.
    Success(Json),
    /// A read found nothing.
    Missing,
    /// It failed.
    Failure(Vec<ReportedError>),
    /// The front end cannot express it: the name of one of its [`Limit`](super::Limit)s.
    Inexpressible(&'static str),
}

impl Outcome {
    /// The `error-tag` of the first error.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Failure(errors) => errors.first().map(|error| &*error.tag),
            _ => None,
        }
    }
}

/// An error (RFC 8040 §7.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedError {
    /// `error-type`.
    pub kind: String,
    /// `error-tag`.
    pub tag: String,
    /// `error-app-tag`.
    pub app_tag: Option<String>,
    /// `error-path`.
    pub path: Option<String>,
    /// `error-message`, without the line.
    pub message: String,
    /// `error-info`; null if there is none.
    pub info: Json,
    /// The line of the document; `None` if there is no document, or if the front end sent another one.
    pub line: Option<u32>,
}

/// The state of a store between two operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The documents of the datastores, with their names.
    pub datastores: Vec<(&'static str, String)>,
    /// The locks, as text.
    pub locks: Vec<String>,
    /// The newest commit of running.
    pub newest: NewestCommit,
}

/// A commit, as the history has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewestCommit {
    /// The version, relative to the start of the case.
    pub version: i64,
    /// The author.
    pub author: String,
    /// The comment.
    pub comment: String,
}
