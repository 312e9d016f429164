//! What writes: track, assert, assort, observe, several of them, and lines of other systems.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_stats::import::Format;
use espalier_stats::limits::WRITES_MAX;
use espalier_stats::{Designator, Nested, Number, Outcome, Packed, Request, Stats, Write};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::asked::{Call, named, time};
use super::problem::{Problem, Result};
use crate::api::{json as answer, read};

/// One write. Numbers are taken as they are written, so that none loses a digit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    /// Of one among several: what it does.
    action: Option<Action>,
    metric: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    values: Box<RawValue>,
    at: Option<String>,
    #[serde(default)]
    untracked: bool,
    /// Classes of a histogram.
    classes: Option<Box<RawValue>>,
    id: Option<String>,
}

/// Several writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    id: Option<String>,
    writes: Vec<Box<RawValue>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Track,
    Assert,
    Assort,
    Observe,
}

/// The forms of classes.
const CLASSES: &str = r#"write {"linear":[SMALLEST,LARGEST,WIDTH]} with a whole number from 1 as width, {"geometric":[SMALLEST,LARGEST]}, or {"custom":[BOUND,...]}"#;

fn number(text: &RawValue) -> Result<Number> {
    Ok(text.get().parse()?)
}

fn designator(classes: &RawValue) -> Result<Designator> {
    let unclear = || Problem::request(CLASSES);
    let classes: BTreeMap<String, Vec<Box<RawValue>>> =
        serde_json::from_str(classes.get()).map_err(|_| unclear())?;
    let mut classes = classes.iter();
    let (Some((name, bounds)), None) = (classes.next(), classes.next()) else {
        return Err(unclear());
    };
    Ok(match (name.as_str(), bounds.as_slice()) {
        ("linear", [min, max, width]) => {
            let width = width.get().parse().map_err(|_| unclear())?;
            Designator::linear(number(min)?, number(max)?, width)?
        }
        ("geometric", [min, max]) => Designator::geometric(number(min)?, number(max)?)?,
        ("custom", bounds) => {
            let bounds = bounds.iter().map(|bound| number(bound));
            Designator::custom(bounds.collect::<Result<_>>()?)?
        }
        _ => return Err(unclear()),
    })
}

fn write(stats: &Stats, action: Action, body: Given) -> Result<Write> {
    let at = time(stats, body.at.as_deref())?;
    let values = Nested::from_json(body.values.get()).and_then(|values| values.pack());
    let values: Packed = values.map_err(|error| Problem::from(error).within("values"))?;
    let metric = named(body.metric, body.labels);
    if body.classes.is_some() && !matches!(action, Action::Assort) {
        return Err(Problem::request("only assort has classes"));
    }
    let write = match (action, &body.classes) {
        (Action::Track, _) => Write::track(metric, at, values),
        (Action::Assert, _) => Write::assert(metric, at, values),
        (Action::Observe, _) => Write::observe(metric, at, values),
        (Action::Assort, Some(classes)) => {
            let classes = designator(classes).map_err(|problem| problem.within("classes"))?;
            Write::assort(metric, at, &values, &classes)?
        }
        (Action::Assort, None) => {
            let detail = r#"assort needs classes, such as {"linear":[0,100,10]}"#;
            return Err(Problem::request(detail));
        }
    };
    Ok(match body.untracked {
        true => write.untracked(),
        false => write,
    })
}

fn submit(call: &Call<'_>, request: Request) -> Result<Response<Body>> {
    let said = match call.service.submit(request)? {
        Outcome::Done => json!({"outcome": "done"}),
        Outcome::Repeated => json!({"outcome": "repeated"}),
        Outcome::TooOld => json!({"outcome": "too-old"}),
        Outcome::DoneInPart { too_old } => json!({"outcome": "done", "too-old": too_old}),
    };
    Ok(answer(StatusCode::OK, &said))
}

fn single(call: &Call<'_>, action: Action) -> Result<Response<Body>> {
    let mut body: Given = call.raw_object()?;
    if body.action.is_some() {
        return Err(Problem::request("the path says the action already"));
    }
    let id = body.id.take();
    let mut request = Request::from(write(call.service, action, body)?);
    request.id = id;
    submit(call, request)
}

pub(super) fn track(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Action::Track)
}

pub(super) fn assert(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Action::Assert)
}

pub(super) fn assort(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Action::Assort)
}

pub(super) fn observe(call: &Call<'_>) -> Result<Response<Body>> {
    single(call, Action::Observe)
}

/// Several writes, all of them or none.
pub(super) fn several(call: &Call<'_>) -> Result<Response<Body>> {
    let body: Several = call.raw_object()?;
    let mut writes = Vec::with_capacity(body.writes.len().min(WRITES_MAX));
    for (index, one) in body.writes.iter().enumerate() {
        let at = |problem: Problem| problem.within(format!("writes[{index}]"));
        let own: Given = read(one.get().as_bytes()).map_err(at)?;
        let action = own
            .action
            .ok_or_else(|| at(Problem::request("it needs an action")))?;
        if own.id.is_some() {
            return Err(at(Problem::request(
                "the id is that of the request, not of a write",
            )));
        }
        writes.push(write(call.service, action, own).map_err(at)?);
    }
    let mut request = Request::new(writes);
    request.id = body.id;
    submit(call, request)
}

/// Lines of StatsD or Prometheus. Those that cannot be read are told, and the others done.
pub(super) fn import(call: &Call<'_>) -> Result<Response<Body>> {
    let at = time(call.service, call.parameter("at"))?;
    let format: Format = call.needed("format")?.parse()?;
    let lines = &mut &call.body[..];
    let report = match call.parameter("id") {
        Some(id) => call.service.import_once(id, format, at, lines)?,
        None => call.service.import(format, at, lines)?,
    };
    let lines = report.lines.iter();
    let lines: Vec<_> = lines
        .map(|line| json!({"line": line.line, "reason": line.reason}))
        .collect();
    let value = json!({
        "writes": report.writes,
        "repeated": report.repeated,
        "skipped": report.skipped,
        "lines": lines,
    });
    Ok(answer(StatusCode::OK, &value))
}
