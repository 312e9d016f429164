//! Lists and deletes metrics.

use axum::body::Body;
use espalier_service::access::Resource;
use http::{Response, StatusCode};
use serde_json::json;

use super::parsed_request::Call;
use super::problem::{Problem, Result};
use crate::api::{empty, json_response};

pub(super) fn list(call: &Call<'_>) -> Result<Response<Body>> {
    let metrics = call
        .service
        .keys(call.parameter("prefix").unwrap_or_default())?;
    let metrics = metrics
        .iter()
        .filter(|metric| call.access.may_read(Resource::Statistics(&metric.name)))
        .map(|metric| json!({"metric": metric.name, "labels": metric.labels}));
    let metrics: Vec<_> = metrics.collect();
    Ok(json_response(
        StatusCode::OK,
        &json!({ "metrics": metrics }),
    ))
}

/// Deletes the metric with exactly these labels.
pub(super) fn delete(call: &Call<'_>) -> Result<Response<Body>> {
    let metric = call.metric()?;
    match call.service.delete(metric.clone())? {
        true => Ok(empty(StatusCode::NO_CONTENT)),
        false => Err(Problem::missing(format!("there is no metric {metric}"))),
    }
}
