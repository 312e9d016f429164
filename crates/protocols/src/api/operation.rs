//! An operation of an API.

use axum::body::Body;
use http::{Method, Response};

use super::call::Call;
use super::problem::Result;

/// Bytes of the body of a request that brings no lines: 16 MiB.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Bytes of the body of a request that brings lines: 256 MiB. Larger ones are sent in parts.
const LINES_BYTES_MAX: usize = 256 << 20;

/// Answers a request.
pub(crate) type Handler<S> = fn(&Call<'_, S>) -> Result<Response<Body>>;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// There is none.
    Nothing,
    /// A schema of the OpenAPI description.
    Schema(&'static str),
    /// JSON lines.
    Lines,
    /// Lines of other kinds.
    Text,
    /// Comma-separated values beside a schema, as the client likes.
    Csv(&'static str),
    /// A JSON Merge Patch.
    Patch,
}

/// One operation.
pub(crate) struct Operation<S> {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// Parameters of the query: name and what it is.
    pub(crate) query: &'static [(&'static str, &'static str)],
    pub(crate) request: Content,
    /// Status and body of what succeeds.
    pub(crate) answers: &'static [(u16, Content)],
    pub(crate) handler: Handler<S>,
}

impl<S> Operation<S> {
    /// Bytes that its body may have.
    pub(crate) fn body_bytes_max(&self) -> usize {
        match self.request {
            Content::Lines | Content::Text => LINES_BYTES_MAX,
            _ => BODY_BYTES_MAX,
        }
    }
}

/// An operation that is being described.
pub(crate) struct Of<S> {
    operation: Operation<S>,
}

/// Begins to describe an operation.
pub(crate) fn of<S>(
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handler<S>,
) -> Of<S> {
    Of {
        operation: Operation {
            method,
            path,
            id,
            summary,
            query: &[],
            request: Content::Nothing,
            answers: &[],
            handler,
        },
    }
}

impl<S> Of<S> {
    /// With parameters of the query: name and what it is.
    pub(crate) fn query(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.operation.query = query;
        self
    }

    /// With a body.
    pub(crate) fn takes(mut self, request: Content) -> Self {
        self.operation.request = request;
        self
    }

    /// What it answers where it succeeds.
    pub(crate) fn gives(mut self, answers: &'static [(u16, Content)]) -> Operation<S> {
        self.operation.answers = answers;
        self.operation
    }
}
