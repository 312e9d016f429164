//! Statuses: said, and found.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_stats::{Beamed, Calendar, Status};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::asked::{Call, named, time};
use super::problem::{Problem, Result};
use crate::api::json as answer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    metric: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    at: Option<String>,
    status: Box<RawValue>,
}

pub(super) fn beam(call: &Call<'_>) -> Result<Response<Body>> {
    let said: Said = serde_json::from_slice(&call.body)
        .map_err(|error| Problem::request(format!("the body: {error}")))?;
    let at = time(call.service, said.at.as_deref())?;
    let metric = named(said.metric, said.labels);
    let outcome = match call.service.beam(metric, at, said.status.get())? {
        Beamed::Latest => "latest",
        Beamed::Outdated => "outdated",
    };
    Ok(answer(StatusCode::OK, &json!({ "outcome": outcome })))
}

fn shown(status: &Status, calendar: &Calendar) -> Result<Json> {
    let json: Json = serde_json::from_str(&status.json)
        .map_err(|error| Problem::internal(format!("a status is no JSON: {error}")))?;
    Ok(json!({
        "metric": status.metric.name,
        "labels": status.metric.labels,
        "at": calendar.show_time(status.at),
        "status": json,
    }))
}

/// The latest status of a metric; of all whose names begin so, with `prefix`.
pub(super) fn scan(call: &Call<'_>) -> Result<Response<Body>> {
    let calendar = call.service.calendar();
    if let Some(prefix) = call.parameter("prefix") {
        let statuses = call.service.statuses(prefix)?;
        let statuses = statuses.iter().map(|status| shown(status, &calendar));
        let statuses = statuses.collect::<Result<Vec<_>>>()?;
        return Ok(answer(StatusCode::OK, &json!({ "statuses": statuses })));
    }
    let metric = call.metric()?;
    let status = call.service.scan(metric.clone())?;
    let status = status.ok_or_else(|| Problem::missing(format!("{metric} has no status")))?;
    Ok(answer(StatusCode::OK, &shown(&status, &calendar)?))
}
