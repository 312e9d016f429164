//! Requests whose anchor is replaced while they run.
//!
//! They are parsed and checked with the old modules, so each of their errors may follow from these. Their result is never
//! wrong, because reads and commits fail if the modules are not those of the request. A request that only reads is
//! repeated with the new modules; one that changes something gets status 503, because its body is consumed.

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{Method, StatusCode};

use super::anchor_route::{AnchorRoute, RequestAnchor, blocking};
use super::served_anchors::unavailable;
use crate::http_error::HttpError;
use crate::restconf;

/// The message for a request that cannot be repeated.
const REPLACED: &str = "the modules of the anchor were replaced while the request was handled, and nothing was changed: \
                        repeat the request";

/// Repeats a request that only reads if it failed and its anchor was replaced. Middleware for routes whose handlers find
/// their anchor with [`RequestAnchor`].
pub(super) async fn retry_reads(
    State(route): State<AnchorRoute>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    if !is_read(&parts.method) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let found = match RequestAnchor::from_request_parts(&mut parts, &route).await {
        Ok(found) => found,
        Err(rejection) => return rejection,
    };
    let again = parts.clone();
    let response = next.clone().run(Request::from_parts(parts, body)).await;
    match renewed(&found, response.status()).await {
        None => response,
        Some(Err(error)) => restconf::rejection(&again, error),
        Some(Ok(_)) => next.run(Request::from_parts(again, Body::empty())).await,
    }
}

/// The anchor as it is now, if a request failed with this status and the anchor was replaced meanwhile.
pub(super) async fn renewed(
    found: &RequestAnchor,
    status: StatusCode,
) -> Option<Result<RequestAnchor, HttpError>> {
    match status.is_client_error() {
        true => renewed_now(found).await,
        false => None,
    }
}

/// The anchor as it is now, if it was replaced since the request arrived.
async fn renewed_now(found: &RequestAnchor) -> Option<Result<RequestAnchor, HttpError>> {
    let store = found.anchors().store();
    // As with reads, an engine on this machine is read on the task of the connection.
    if !store.driver().capability().remote && !found.is_replaced() {
        return None;
    }
    let found = found.clone();
    match blocking(move || found.renewed().transpose()).await {
        Ok(renewed) => renewed.map(Ok),
        Err(error) => Some(Err(error)),
    }
}

impl RequestAnchor {
    /// The anchor as it is now: for responses that come from the models alone, without a read that would fail if they
    /// were replaced.
    ///
    /// # Errors
    /// The anchor was deleted, or cannot be opened now.
    pub async fn current(self) -> Result<Self, HttpError> {
        renewed_now(&self).await.unwrap_or(Ok(self))
    }
}

/// The response to a request that changes something and whose anchor was replaced meanwhile.
pub(super) fn replaced_response(parts: &Parts) -> Response {
    restconf::rejection(parts, unavailable(REPLACED))
}

/// Whether a method only reads.
pub(super) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}
