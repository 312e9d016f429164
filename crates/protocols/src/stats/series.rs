//! Results computed from values: timelines, aggregates, totals, top paths, quantiles, expressions.

use std::collections::BTreeMap;

use axum::body::Body;
use espalier_stats::{Aggregate, Calendar, Expression, Group, Path, Pattern, Query};
use http::{Response, StatusCode};
use serde_json::{Value as Json, json};

use super::asked::Call;
use super::problem::{Problem, Result};
use crate::api::json as answer;

/// The parameters that select a result; at most one may be given.
const MADE: [&str; 4] = ["aggregate", "category", "top", "quantile"];

/// Maximum number of slices of a range.
pub(super) const SLICES_MAX: usize = 10_000;

pub(super) fn get(call: &Call<'_>) -> Result<Response<Body>> {
    let made: Vec<_> = MADE
        .into_iter()
        .filter(|name| call.parameter(name).is_some())
        .collect();
    if made.len() > 1 {
        let detail = format!("{} cannot be combined", made.join(" and "));
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
            .map(|(group, total)| shown(group, "total", json!(total)));
        return Ok(series(groups.collect()));
    }
    let wanted = Wanted::of(call, count)?;
    let mut groups = call.service.query(&query)?;
    compute(call, &mut groups)?;
    let calendar = call.service.calendar();
    let shown = groups.iter().map(|group| wanted.show(group, &calendar));
    Ok(series(shown.collect::<Result<_>>()?))
}

/// Rejects combinations in which a parameter would be ignored.
fn check(call: &Call<'_>) -> Result<()> {
    call.needs("expression", &["of", "as"])?;
    call.excludes("quantile", &["group-by", "slices", "expression"])?;
    call.excludes("top", &["slices"])?;
    if call.parameter("group-by").is_some() {
        call.excludes("top", &["expression"])?;
    }
    Ok(())
}

/// The requested result for each group.
struct Wanted {
    pattern: Pattern,
    slices: usize,
    made: Made,
}

enum Made {
    Aggregate(Aggregate, Path),
    Top(usize),
    Category,
    Timeline,
}

fn series(series: Vec<Json>) -> Response<Body> {
    answer(StatusCode::OK, &json!({ "series": series }))
}

fn shown(group: &Group, name: &str, made: Json) -> Json {
    json!({"labels": group.labels, name: made})
}

fn query(call: &Call<'_>) -> Result<Query> {
    let metric = call.metric()?;
    let mut query = Query::new(metric.name, call.range()?);
    query.labels = metric.labels;
    query.group_by = call.parameters("group-by").map(str::to_owned).collect();
    Ok(query)
}

fn exact_path(call: &Call<'_>) -> Result<Path> {
    Ok(call.needed("path")?.parse()?)
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
    let result: Path = call.needed("as")?.parse()?;
    for group in groups {
        group.series.transpond(&expression, &result);
    }
    Ok(())
}

impl Wanted {
    fn of(call: &Call<'_>, top: Option<usize>) -> Result<Self> {
        let made = match (call.parameter("aggregate"), top) {
            (Some(aggregate), _) => Made::Aggregate(aggregate.parse()?, exact_path(call)?),
            (None, Some(count)) => Made::Top(count),
            (None, None) if call.flag("category")? => Made::Category,
            _ => Made::Timeline,
        };
        Ok(Self {
            pattern: call.parameter("path").unwrap_or("*").parse()?,
            slices: slices(call)?,
            made,
        })
    }

    fn show(&self, group: &Group, calendar: &Calendar) -> Result<Json> {
        let (series, pattern) = (&group.series, &self.pattern);
        Ok(match &self.made {
            Made::Aggregate(aggregate, path) => {
                let numbers = series.aggregate(*aggregate, path, self.slices)?;
                shown(group, aggregate.as_str(), json!(numbers))
            }
            Made::Top(count) => shown(group, "top", json!(series.top(pattern, *count)?)),
            Made::Category => shown(
                group,
                "category",
                json!(series.category(pattern, self.slices)?),
            ),
            Made::Timeline => self.timeline(group, calendar)?,
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
        Ok(shown(group, "timeline", json!(lines)))
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
    let shown = json!({"count": sketch.count(), "quantiles": quantiles});
    Ok(answer(StatusCode::OK, &shown))
}
