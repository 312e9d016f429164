//! The routes.

use std::sync::Arc;

use axum::Router;

use super::service::DocumentsService;
use super::{openapi, operations};
use crate::api;

/// The routes: `/documents` and what is below it, and the OpenAPI description.
pub fn router(service: Arc<DocumentsService>) -> Router {
    api::router(service, &openapi::api(), operations::all())
}
