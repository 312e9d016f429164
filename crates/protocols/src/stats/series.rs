//! Results computed from values: timelines, aggregates, totals, top paths, quantiles, expressions.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_stats::{Aggregate, Calendar, Expression, Group, Path, Pattern, Query};
use http::{Response, StatusCode};
use serde_json::{Value as Json, json};

use super::parsed_request::Call;
use super::problem::{Problem, Result};
use crate::api::json_response;

/// The parameters that select a result; at most one may be given.
const RESULT_PARAMETERS: [&str; 4] = ["aggregate", "category", "top", "quantile"];

/// Maximum number of slices of a range.
pub(super) const SLICES_MAX: usize = 10_000;

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let given: Vec<_> = RESULT_PARAMETERS
        .into_iter()
        .filter(|name| call.parameter(name).is_some())
        .collect();
    if given.len() > 1 {
        let detail = format!("{} cannot be combined", given.join(" and "));
        return Err(Problem::request(detail));
    }
    check(call)?;
    if call.parameter("quantile").is_some() {
        return quantiles(call);
    }
    let query = query(call)?;
    let count: Option<usize> = call.parsed("top")?;
    if let Some(count) = count.filter(|_| !query.group_by.is_empty()) {
        let groups = call.service.top(&query, &exact_path(call)?, count)?;
        let groups = groups
            .iter()
            .map(|(group, total)| group_json(group, "total", json!(total)));
        return Ok(series(groups.collect()));
    }
    let request = SeriesRequest::of(call, count)?;
    let mut groups = call.service.query(&query)?;
    compute(call, &mut groups)?;
    let calendar = call.service.calendar();
    let results = groups.iter().map(|group| request.to_json(group, &calendar));
    Ok(series(results.collect::<Result<_>>()?))
}

/// Rejects combinations in which a parameter would be ignored.
fn check(call: &Call<'_>) -> Result<()> {
    call.check_requires("expression", &["of", "as"])?;
    call.check_excludes("quantile", &["group-by", "slices", "expression"])?;
    call.check_excludes("top", &["slices"])?;
    if call.parameter("group-by").is_some() {
        call.check_excludes("top", &["expression"])?;
    }
    Ok(())
}

/// The requested result for each group.
struct SeriesRequest {
    pattern: Pattern,
    slices: usize,
    result: SeriesResult,
}

enum SeriesResult {
    Aggregate(Aggregate, Path),
    Top(usize),
    Category,
    Timeline,
}

fn series(series: Vec<Json>) -> Response<Body> {
    json_response(StatusCode::OK, &json!({ "series": series }))
}

fn group_json(group: &Group, name: &str, result: Json) -> Json {
    json!({"labels": group.labels, name: result})
}

fn query(call: &Call<'_>) -> Result<Query> {
    let metric = call.metric()?;
    let mut query = Query::new(metric.name, call.range()?);
    query.labels = metric.labels;
    query.group_by = call.parameters("group-by").map(str::to_owned).collect();
    Ok(query)
}

fn exact_path(call: &Call<'_>) -> Result<Path> {
    Ok(call.required_parameter("path")?.parse()?)
}

fn slices(call: &Call<'_>) -> Result<usize> {
    let slices = call.parsed("slices")?.unwrap_or(1);
    if slices == 0 || slices > SLICES_MAX {
        return Err(Problem::request(format!(
            "slices={slices}: must be 1 to {SLICES_MAX}"
        )));
    }
    Ok(slices)
}

/// Adds the path that an expression computes from others.
fn compute(call: &Call<'_>, groups: &mut [Group]) -> Result<()> {
    let Some(text) = call.parameter("expression") else {
        return Ok(());
    };
    let paths = call.parameters("of").map(str::parse);
    let paths = paths.collect::<espalier_stats::Result<Vec<Path>>>()?;
    let expression = Expression::parse(&paths, text);
    let expression = expression.map_err(|error| Problem::from(error).within("expression"))?;
    let result: Path = call.required_parameter("as")?.parse()?;
    for group in groups {
        group.series.transpond(&expression, &result);
    }
    Ok(())
}

impl SeriesRequest {
    fn of(call: &Call<'_>, top: Option<usize>) -> Result<Self> {
        let result = match (call.parameter("aggregate"), top) {
            (Some(aggregate), _) => SeriesResult::Aggregate(aggregate.parse()?, exact_path(call)?),
            (None, Some(count)) => SeriesResult::Top(count),
            (None, None) if call.flag("category")? => SeriesResult::Category,
            _ => SeriesResult::Timeline,
        };
        Ok(Self {
            pattern: call.parameter("path").unwrap_or("*").parse()?,
            slices: slices(call)?,
            result,
        })
    }

    fn to_json(&self, group: &Group, calendar: &Calendar) -> Result<Json> {
        let (series, pattern) = (&group.series, &self.pattern);
        Ok(match &self.result {
            SeriesResult::Aggregate(aggregate, path) => {
                let numbers = series.aggregate(*aggregate, path, self.slices)?;
                group_json(group, aggregate.as_str(), json!(numbers))
            }
            SeriesResult::Top(count) => {
                group_json(group, "top", json!(series.top(pattern, *count)?))
            }
            SeriesResult::Category => group_json(
                group,
                "category",
                json!(series.category(pattern, self.slices)?),
            ),
            SeriesResult::Timeline => self.timeline(group, calendar)?,
        })
    }

    fn timeline(&self, group: &Group, calendar: &Calendar) -> Result<Json> {
        let lines = group.series.timeline(&self.pattern, self.slices)?;
        let lines = lines.iter().map(|(path, slices)| {
            let slices = slices.iter().map(|points| {
                let points = points.iter();
                let points = points.map(|(at, number)| (calendar.show_time(*at), *number));
                points.collect::<Vec<_>>()
            });
            (path.to_string(), slices.collect::<Vec<_>>())
        });
        let lines: BTreeMap<_, _> = lines.collect();
        Ok(group_json(group, "timeline", json!(lines)))
    }
}

fn quantiles(call: &Call<'_>) -> Result<Response<Body>> {
    let sketch = call
        .service
        .sketch(call.metric()?, call.range()?, &exact_path(call)?)?;
    let mut quantiles = BTreeMap::new();
    for text in call.parameters("quantile") {
        let quantile: f64 = text
            .parse()
            .map_err(|_| Problem::request(format!("quantile={text:?} is not a number")))?;
        quantiles.insert(text, sketch.quantile(quantile)?);
    }
    let body = json!({"count": sketch.count(), "quantiles": quantiles});
    Ok(json_response(StatusCode::OK, &body))
}
