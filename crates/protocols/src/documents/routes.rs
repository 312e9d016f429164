//! The router of the document API.

use std::sync::Arc;

use axum::Router;
use espalier_service::access::Resource;

use super::parsed_request::Call;
use super::service::DocumentsService;
use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: `/documents` and everything below it, and the OpenAPI description. `intake` receives the
/// bodies of requests.
pub fn router(service: Arc<DocumentsService>, intake: Intake) -> Router {
    let operations = operations::all();
    api::router(service, &openapi::api(), operations, collection_of, intake)
}

/// The collection in the path.
fn collection_of<'c>(call: &'c Call<'_>) -> Option<Resource<'c>> {
    match call.path_parameter(0) {
        "" => None,
        name => Some(Resource::Collection(name)),
    }
}
