//! Statuses of metrics: set and read.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_stats::{Beamed, Calendar, Status};
use http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::asked::{Call, named, time};
use super::problem::{Problem, Result};
use crate::api::{json as answer, json_text};

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
    let said: Said = call.raw_object()?;
    let at = time(call.service, said.at.as_deref())?;
    let metric = named(said.metric, said.labels);
    let outcome = match call.service.beam(metric, at, said.status.get())? {
        Beamed::Latest => "latest",
        Beamed::Outdated => "outdated",
    };
    Ok(answer(StatusCode::OK, &json!({ "outcome": outcome })))
}

/// A status in a response. Its JSON is copied without being parsed.
#[derive(Serialize)]
struct Shown<'a> {
    metric: &'a str,
    labels: &'a BTreeMap<String, String>,
    at: String,
    status: Box<RawValue>,
}

#[derive(Serialize)]
struct AllShown<'a> {
    statuses: Vec<Shown<'a>>,
}

fn shown<'a>(status: &'a Status, calendar: &Calendar) -> Result<Shown<'a>> {
    Ok(Shown {
        metric: &status.metric.name,
        labels: &status.metric.labels,
        at: calendar.show_time(status.at),
        status: RawValue::from_string(status.json.clone()).map_err(unreadable)?,
    })
}

fn unreadable(error: serde_json::Error) -> Problem {
    Problem::internal(format!("a status is not JSON: {error}"))
}

fn text(shown: &impl Serialize) -> Result<Response<Body>> {
    let text = serde_json::to_string(shown).map_err(unreadable)?;
    Ok(json_text(StatusCode::OK, text))
}

/// Returns the latest status of a metric, or with `prefix` of all metrics whose names start with it.
pub(super) fn scan(call: &Call<'_>) -> Result<Response<Body>> {
    call.excludes("prefix", &["metric", "label"])?;
    let calendar = call.service.calendar();
    if let Some(prefix) = call.parameter("prefix") {
        let statuses = call.service.statuses(prefix)?;
        let statuses = statuses.iter().map(|status| shown(status, &calendar));
        return text(&AllShown {
            statuses: statuses.collect::<Result<_>>()?,
        });
    }
    let metric = call.metric()?;
    let status = call.service.scan(metric.clone())?;
    let status = status.ok_or_else(|| Problem::missing(format!("{metric} has no status")))?;
    text(&shown(&status, &calendar)?)
}
