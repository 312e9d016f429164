//! The router of the statistics API.

use std::sync::Arc;

use axum::Router;
use espalier_service::access::Resource;
use espalier_stats::Stats;

use super::parsed_request::Call;
use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: everything below `/stats`, and the OpenAPI description. `intake` receives the bodies of
/// requests.
pub fn router(stats: Arc<Stats>, intake: Intake) -> Router {
    let operations = operations::all();
    api::router(stats, &openapi::api(), operations, metric_of, intake)
}

/// The metric in the query.
fn metric_of<'c>(call: &'c Call<'_>) -> Option<Resource<'c>> {
    call.parameter("metric").map(Resource::Statistics)
}
