//! The routes.

use std::sync::Arc;

use axum::Router;

use super::service::DocumentsService;
use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: `/documents` and what is below it, and the OpenAPI description. Bodies of requests are
/// taken in by `intake`.
pub fn router(service: Arc<DocumentsService>, intake: Intake) -> Router {
    api::router(service, &openapi::api(), operations::all(), intake)
}
