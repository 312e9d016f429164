//! The router of the document API.

use std::sync::Arc;

use axum::Router;
use espalier_service::access::Resource;

use super::parsed_request::Call;
use super::problem::Result;
use super::service::DocumentsService;
use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: `/documents` and everything below it, and the OpenAPI description. `intake` receives the
/// bodies of requests.
pub fn router(service: Arc<DocumentsService>, intake: Intake) -> Router {
    let operations = operations::all();
    api::router(service, &openapi::api(), operations, check_access, intake)
}

/// The collection in the path.
fn check_access(call: &Call<'_>, is_safe: bool) -> Result<()> {
    let collection = match call.path_parameter(0) {
        "" => return Ok(()),
        name => Resource::Collection(name),
    };
    match is_safe {
        true => call.require_read(collection),
        false => call.require_change(collection),
    }
}
