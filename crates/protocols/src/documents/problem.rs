//! What went wrong, as RFC 9457 has it.

use axum::body::Body;
use espalier_documents::{Error, ErrorKind};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value as Json, json};

/// What a handler returns.
pub(super) type Result<T> = std::result::Result<T, Problem>;

/// A failure: a status, a kind for programs, a sentence for people.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    clash: Option<Box<Json>>,
    allow: Option<String>,
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            detail: detail.into(),
            clash: None,
            allow: None,
        }
    }

    /// The request makes no sense.
    pub(super) fn request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// There is no such thing.
    pub(super) fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "missing", detail)
    }

    /// A condition of the request does not hold.
    pub(super) fn precondition(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "changed", detail)
    }

    /// The body is of another media type than this operation takes.
    pub(super) fn media(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail)
    }

    /// The body is larger than the limit.
    pub(super) fn too_large(limit: usize) -> Self {
        let detail = format!("the body is larger than the limit of {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "limit", detail)
    }

    /// The resource does not have this method.
    pub(super) fn method(method: &http::Method, allow: String) -> Self {
        let detail = format!("there is no {method} here; there are {allow}");
        let mut problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail);
        problem.allow = Some(allow);
        problem
    }

    /// The server failed.
    pub(super) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// The answer.
    pub(super) fn answer(self) -> Response<Body> {
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
        if let Some(Ok(allow)) = self.allow.map(|allow| HeaderValue::from_str(&allow)) {
            headers.insert(ALLOW, allow);
        }
        answer
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, kind) = match error.kind() {
            ErrorKind::Argument => (StatusCode::BAD_REQUEST, "request"),
            ErrorKind::Syntax => (StatusCode::BAD_REQUEST, "syntax"),
            ErrorKind::Limit => (StatusCode::BAD_REQUEST, "limit"),
            ErrorKind::Missing => (StatusCode::NOT_FOUND, "missing"),
            ErrorKind::Exists => (StatusCode::CONFLICT, "exists"),
            ErrorKind::Unique => (StatusCode::CONFLICT, "unique"),
            ErrorKind::Vetoed => (StatusCode::CONFLICT, "vetoed"),
            ErrorKind::Changed => (StatusCode::PRECONDITION_FAILED, "changed"),
            ErrorKind::Definition => (StatusCode::CONFLICT, "definition"),
            ErrorKind::Building => (StatusCode::CONFLICT, "building"),
            ErrorKind::Document => (StatusCode::UNPROCESSABLE_ENTITY, "document"),
            ErrorKind::Keyspace if error.is_retryable() => {
                (StatusCode::SERVICE_UNAVAILABLE, "engine")
            }
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "engine"),
        };
        let mut problem = Self::new(status, kind, error.to_string());
        problem.clash = error.clash().map(|clash| {
            Box::new(json!({"index": clash.index, "value": clash.value, "key": clash.key}))
        });
        problem
    }
}
