//! Error responses: problem documents (RFC 9457).

use axum::body::Body;
use espalier_service::audit::PROBLEM_KINDS;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value as Json, json};

use super::parsed_request::{ACCEPT_PATCH, MERGE_PATCH};
use crate::intake::IntakeError;

/// The result of a handler.
pub(crate) type Result<T> = std::result::Result<T, Problem>;

/// An error: a status, a kind for programs, a message for people.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    clash: Option<Box<Json>>,
    /// A header that names what is supported.
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
    /// Creates an error.
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        debug_assert!(PROBLEM_KINDS.contains(&kind), "{kind}");
        Self {
            status,
            kind,
            detail: detail.into(),
            clash: None,
            header: None,
        }
    }

    /// The kind of error, for programs.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// The request is invalid: 400.
    pub(crate) fn request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// The resource does not exist: 404.
    pub(crate) fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "missing", detail)
    }

    /// The user may not do this: 403.
    pub(crate) fn denied(resource: impl std::fmt::Display) -> Self {
        let detail = format!("access denied: {resource}");
        Self::new(StatusCode::FORBIDDEN, "access-denied", detail)
    }

    /// A condition of the request is not met: 412.
    pub(crate) fn precondition(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "changed", detail)
    }

    /// The media type of the body is not supported by the operation: 415.
    pub(crate) fn media(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail)
    }

    /// The patch format is not supported (RFC 5789 §2.2): 415.
    pub(crate) fn patch_media(media: &str) -> Self {
        let detail = format!("the patch is {media}; send {MERGE_PATCH} (RFC 7396)");
        let mut problem = Self::media(detail);
        problem.header = Some((ACCEPT_PATCH, MERGE_PATCH.to_owned()));
        problem
    }

    /// The resource does not support this method: 405.
    pub(crate) fn method(method: &http::Method, allow: String) -> Self {
        let detail = format!("method {method} is not supported here; supported: {allow}");
        let mut problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail);
        problem.header = Some((ALLOW, allow));
        problem
    }

    /// Internal error: 500.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// Prefixes the message with a location in the request.
    pub(crate) fn within(mut self, place: impl std::fmt::Display) -> Self {
        self.detail = format!("{place}: {}", self.detail);
        self
    }

    /// Adds the conflicting index entry.
    pub(crate) fn with_clash(mut self, clash: Option<Json>) -> Self {
        self.clash = clash.map(Box::new);
        self
    }

    /// The response.
    pub(crate) fn into_response(self) -> Response<Body> {
        let body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "kind": self.kind,
            "clash": self.clash,
        });
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            headers.insert(name, value);
        }
        response
    }
}
