//! The router of the document API.

use std::sync::Arc;

use axum::Router;

use super::service::DocumentsService;
use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: `/documents` and everything below it, and the OpenAPI description. `intake` receives the
/// bodies of requests.
pub fn router(service: Arc<DocumentsService>, intake: Intake) -> Router {
    api::router(service, &openapi::api(), operations::all(), intake)
}
