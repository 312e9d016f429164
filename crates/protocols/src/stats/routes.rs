//! The router of the statistics API.

use std::sync::Arc;

use axum::Router;
use espalier_service::access::Resource;
use espalier_stats::Stats;

use super::parsed_request::Call;
use super::problem::Result;
use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: everything below `/stats`, and the OpenAPI description. `intake` receives the bodies of
/// requests.
pub fn router(stats: Arc<Stats>, intake: Intake) -> Router {
    let operations = operations::all();
    api::router(stats, &openapi::api(), operations, check_access, intake)
}

/// The metric in the query.
fn check_access(call: &Call<'_>, is_safe: bool) -> Result<()> {
    let metric = match call.parameter("metric") {
        None => return Ok(()),
        Some(name) => Resource::Statistics(name),
    };
    match is_safe {
        true => call.require_read(metric),
        false => call.require_change(metric),
    }
}
