//! The routes.

use std::sync::Arc;

use axum::Router;
use espalier_stats::Stats;

use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: what is below `/stats`, and the OpenAPI description. Bodies of requests are taken in by
/// `intake`.
pub fn router(stats: Arc<Stats>, intake: Intake) -> Router {
    api::router(stats, &openapi::api(), operations::all(), intake)
}
