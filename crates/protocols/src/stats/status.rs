//! Statuses of metrics: set and read.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_service::access::Resource;
use espalier_stats::{Beamed, Calendar, Status};
use http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::parsed_request::{Call, metric_of, time};
use super::problem::{Problem, Result};
use crate::api::{json_response, json_text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusWrite {
    metric: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    at: Option<String>,
    status: Box<RawValue>,
}

pub(super) fn beam(call: &Call<'_>) -> Result<Response<Body>> {
    let write: StatusWrite = call.raw_object()?;
    call.require_change(Resource::Statistics(&write.metric))?;
    let at = time(call.service, write.at.as_deref())?;
    let metric = metric_of(write.metric, write.labels);
    let outcome = match call.service.beam(metric, at, write.status.get())? {
        Beamed::Latest => "latest",
        Beamed::Outdated => "outdated",
    };
    Ok(json_response(
        StatusCode::OK,
        &json!({ "outcome": outcome }),
    ))
}

/// A status in a response. Its JSON is copied without being parsed.
#[derive(Serialize)]
struct StatusJson<'a> {
    metric: &'a str,
    labels: &'a BTreeMap<String, String>,
    at: String,
    status: Box<RawValue>,
}

#[derive(Serialize)]
struct StatusList<'a> {
    statuses: Vec<StatusJson<'a>>,
}

fn status_json<'a>(status: &'a Status, calendar: &Calendar) -> Result<StatusJson<'a>> {
    Ok(StatusJson {
        metric: &status.metric.name,
        labels: &status.metric.labels,
        at: calendar.show_time(status.at),
        status: RawValue::from_string(status.json.clone()).map_err(unreadable)?,
    })
}

fn unreadable(error: serde_json::Error) -> Problem {
    Problem::internal(format!("a status is not JSON: {error}"))
}

fn serialized_response(shown: &impl Serialize) -> Result<Response<Body>> {
    let text = serde_json::to_string(shown).map_err(unreadable)?;
    Ok(json_text(StatusCode::OK, text))
}

/// Returns the latest status of a metric, or with `prefix` of all metrics whose names start with it.
pub(super) fn scan(call: &Call<'_>) -> Result<Response<Body>> {
    call.check_excludes("prefix", &["metric", "label"])?;
    let calendar = call.service.calendar();
    if let Some(prefix) = call.parameter("prefix") {
        let statuses = call.service.statuses(prefix)?;
        let statuses = statuses
            .iter()
            .filter(|status| {
                call.access
                    .may_read(Resource::Statistics(&status.metric.name))
            })
            .map(|status| status_json(status, &calendar));
        return serialized_response(&StatusList {
            statuses: statuses.collect::<Result<_>>()?,
        });
    }
    let metric = call.metric()?;
    let status = call.service.scan(metric.clone())?;
    let status = status.ok_or_else(|| Problem::missing(format!("{metric} has no status")))?;
    serialized_response(&status_json(&status, &calendar)?)
}
