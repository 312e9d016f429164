//! The answer to a request that is refused before a front end sees it, in the form of the API that it is
//! for.

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};

use crate::api::Problem;
use crate::restconf;

/// The paths whose errors are problem documents (RFC 9457), by their first segment.
const PROBLEM_ROOTS: [&str; 3] = ["stats", "documents", "openapi"];

/// The paths whose errors are plain text, likewise.
const TEXT_ROOTS: [&str; 2] = ["healthz", "metrics"];

/// The answer: a problem document below `/stats` and `/documents`, text for what an operator asks, and
/// the errors of RFC 8040 §7.1 elsewhere.
pub(crate) fn refusal(parts: &Parts, status: StatusCode, message: &str) -> Response<Body> {
    let path = parts.uri.path();
    let root = path.split('/').nth(1).unwrap_or_default();
    if PROBLEM_ROOTS.contains(&root) {
        return Problem::new(status, "refused", message).answer();
    }
    if TEXT_ROOTS.contains(&root) {
        let mut answer = Response::new(Body::from(format!("{message}\n")));
        *answer.status_mut() = status;
        let media = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, media);
        return answer;
    }
    restconf::refusal_without_place(&parts.headers, status, message)
}
