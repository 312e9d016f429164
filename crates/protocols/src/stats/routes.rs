//! The router of the statistics API.

use std::sync::Arc;

use axum::Router;
use espalier_stats::Stats;

use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: everything below `/stats`, and the OpenAPI description. `intake` receives the bodies of
/// requests.
pub fn router(stats: Arc<Stats>, intake: Intake) -> Router {
    api::router(stats, &openapi::api(), operations::all(), intake)
}
