//! Writes: track, assert, assort, observe, several of them, and imported lines.

use axum::body::Body;
use espalier_service::access::Resource;
use espalier_stats::import::Format;
use espalier_stats::limits::WRITES_MAX;
use espalier_stats::{Calendar, JsonWrite, Outcome, Request, Timestamp, Verb, Write};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::parsed_request::{Call, time};
use super::problem::{Problem, Result};
use crate::api::{json_response, read};

/// A request with several writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteBatch {
    id: Option<String>,
    writes: Vec<Box<RawValue>>,
}

fn write(calendar: &Calendar, action: Verb, body: JsonWrite) -> Result<Write> {
    Ok(body.write(action, calendar, Timestamp::now())?)
}

fn submit(call: &Call<'_>, request: Request) -> Result<Response<Body>> {
    for write in &request.writes {
        call.require_change(Resource::Statistics(&write.metric.name))?;
    }
    let body = match call.service.submit(request)? {
        Outcome::Done => json!({"outcome": "done"}),
        Outcome::Repeated => json!({"outcome": "repeated"}),
        Outcome::TooOld => json!({"outcome": "too-old"}),
        Outcome::DoneInPart { too_old } => json!({"outcome": "done", "too-old": too_old}),
    };
    Ok(json_response(StatusCode::OK, &body))
}

fn single(call: &Call<'_>, action: Verb) -> Result<Response<Body>> {
    let mut body: JsonWrite = call.raw_object()?;
    if body.action.is_some() {
        return Err(Problem::request("the action is given by the path"));
    }
    let id = body.id.take();
    let mut request = Request::from(write(&call.service.calendar(), action, body)?);
    request.id = id;
    submit(call, request)
}

pub(super) fn track(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Verb::Track)
}

pub(super) fn assert(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Verb::Assert)
}

pub(super) fn assort(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Verb::Assort)
}

pub(super) fn observe(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Verb::Observe)
}

/// Applies several writes, all or none.
pub(super) fn several(call: &Call<'_>) -> Result<Response<Body>> {
    let body: WriteBatch = call.raw_object()?;
    let calendar = call.service.calendar();
    let mut writes = Vec::with_capacity(body.writes.len().min(WRITES_MAX));
    for (index, one) in body.writes.iter().enumerate() {
        let at = |problem: Problem| problem.within(format!("writes[{index}]"));
        let own: JsonWrite = read(one.get().as_bytes()).map_err(at)?;
        let action = own
            .action
            .ok_or_else(|| at(Problem::request("the action is missing")))?;
        if own.id.is_some() {
            return Err(at(Problem::request(
                "the id belongs to the request, not to a write",
            )));
        }
        writes.push(write(&calendar, action, own).map_err(at)?);
    }
    let mut request = Request::new(writes);
    request.id = body.id;
    submit(call, request)
}

/// Imports lines of StatsD or Prometheus, or JSON lines. Invalid lines are reported, the others are
/// applied.
pub(super) fn import(call: &Call<'_>) -> Result<Response<Body>> {
    let at = time(call.service, call.parameter("at"))?;
    let format: Format = call.required_parameter("format")?.parse()?;
    let lines = &mut call.lines()?;
    let is_permitted = |name: &str| call.access.may_change(Resource::Statistics(name));
    let mut import = call.service.importer(format, at).permitting(&is_permitted);
    if let Some(id) = call.parameter("id") {
        import = import.with_id(id)?;
    }
    let report = import.run(lines)?;
    Ok(json_response(StatusCode::OK, &report.to_json()))
}
