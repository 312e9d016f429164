//! The HTTP route with which datastores are committed, validated, locked and copied.
//!
//! - `POST /espalier/datastores`: an [`OperationRequest`] as JSON; the response is an
//!   [`Outcome`](crate::endpoint::Outcome).

use axum::response::Response;
use espalier_protocols::anchors::RequestAnchor;
use espalier_protocols::http_error::HttpError;
use espalier_protocols::json::json_response;

use super::admin_api::{AdminApi, BodyKind, WriteRequest, WriteRoute};
use crate::endpoint::{DATASTORES_PATH, OperationRequest, perform};
use espalier_terminal::Failure;

/// The maximum size of a request.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// Adds the routes.
pub fn add(api: AdminApi) -> AdminApi {
    api.write_route(WriteRoute {
        path: DATASTORES_PATH,
        summary: "Commit, validate, discard, update, lock, unlock or copy datastores",
        body: BodyKind::Json,
        bytes_max: REQUEST_BYTES_MAX,
        handler: perform_operation,
    })
}

fn perform_operation(found: &RequestAnchor, request: &WriteRequest) -> Result<Response, HttpError> {
    let operation: OperationRequest = request.object()?;
    let of = found.datastore(&request.parts, &operation.session)?;
    let outcome = perform(&of, &operation).map_err(Failure::into_reported)?;
    Ok(json_response(&outcome))
}
