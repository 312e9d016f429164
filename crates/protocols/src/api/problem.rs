//! What went wrong, as RFC 9457 has it.

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value as Json, json};

use super::call::{ACCEPT_PATCH, MERGE_PATCH};
use crate::intake::IntakeError;

/// What a handler returns.
pub(crate) type Result<T> = std::result::Result<T, Problem>;

/// A failure: a status, a kind for programs, a sentence for people.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    clash: Option<Box<Json>>,
    /// A header that says what would do.
    header: Option<(HeaderName, String)>,
}

impl From<IntakeError> for Problem {
    fn from(error: IntakeError) -> Self {
        let kind = match &error {
            IntakeError::TooLarge { .. } => "limit",
            IntakeError::Timeout(_) => "timeout",
            IntakeError::Broken(_) => "request",
            IntakeError::NoRoom(_) => "room",
            IntakeError::File { .. } => "internal",
        };
        Self::new(error.status(), kind, error.to_string())
    }
}

impl Problem {
    /// A failure.
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            detail: detail.into(),
            clash: None,
            header: None,
        }
    }

    /// The request makes no sense.
    pub(crate) fn request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// There is no such thing.
    pub(crate) fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "missing", detail)
    }

    /// A condition of the request does not hold.
    pub(crate) fn precondition(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "changed", detail)
    }

    /// The body is of another media type than this operation takes.
    pub(crate) fn media(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail)
    }

    /// The body is no patch of a kind that is understood (RFC 5789 §2.2).
    pub(crate) fn patch_media(media: &str) -> Self {
        let detail = format!("the patch is {media}; send {MERGE_PATCH} (RFC 7396)");
        let mut problem = Self::media(detail);
        problem.header = Some((ACCEPT_PATCH, MERGE_PATCH.to_owned()));
        problem
    }

    /// The resource does not have this method.
    pub(crate) fn method(method: &http::Method, allow: String) -> Self {
        let detail = format!("there is no {method} here; there are {allow}");
        let mut problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail);
        problem.header = Some((ALLOW, allow));
        problem
    }

    /// The server failed.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// The same, with the place in the request before its sentence.
    pub(crate) fn within(mut self, place: impl std::fmt::Display) -> Self {
        self.detail = format!("{place}: {}", self.detail);
        self
    }

    /// The same, with what it clashes with.
    pub(crate) fn with_clash(mut self, clash: Option<Json>) -> Self {
        self.clash = clash.map(Box::new);
        self
    }

    /// The answer.
    pub(crate) fn answer(self) -> Response<Body> {
        let body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "kind": self.kind,
            "clash": self.clash,
        });
        let mut answer = Response::new(Body::from(body.to_string()));
        *answer.status_mut() = self.status;
        let headers = answer.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            headers.insert(name, value);
        }
        answer
    }
}
