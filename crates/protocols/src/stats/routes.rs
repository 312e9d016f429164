//! The routes.

use std::sync::Arc;

use axum::Router;
use espalier_stats::Stats;

use super::{openapi, operations};
use crate::api;

/// The routes: what is below `/stats`, and the OpenAPI description.
pub fn router(stats: Arc<Stats>) -> Router {
    api::router(stats, &openapi::api(), operations::all())
}
