//! Error responses to requests that are rejected before a front end handles them, in the format of the API
//! that the path belongs to.

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};

use crate::api::Problem;
use crate::restconf;

/// The first path segments whose errors are problem documents (RFC 9457).
const PROBLEM_ROOTS: [&str; 4] = ["stats", "documents", "audit", "openapi"];

/// The first path segments whose errors are plain text.
const TEXT_ROOTS: [&str; 2] = ["healthz", "metrics"];

/// The error response: a problem document for `/stats`, `/documents`, `/audit` and `/openapi`, plain text for the
/// operator endpoints, otherwise the errors of RFC 8040 §7.1.
pub(crate) fn early_error_response(
    parts: &Parts,
    status: StatusCode,
    message: &str,
) -> Response<Body> {
    let path = parts.uri.path();
    let root = path.split('/').nth(1).unwrap_or_default();
    if PROBLEM_ROOTS.contains(&root) {
        return Problem::new(status, "refused", message).into_response();
    }
    if TEXT_ROOTS.contains(&root) {
        let mut response = Response::new(Body::from(format!("{message}\n")));
        *response.status_mut() = status;
        let media = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, media);
        return response;
    }
    restconf::early_error_response(&parts.headers, status, message)
}
