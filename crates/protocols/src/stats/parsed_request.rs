//! Parses the metrics, times and ranges of requests.

use std::collections::BTreeMap;

use espalier_stats::{Granularity, Metric, Range, Stats, Timestamp};

use super::problem::{Problem, Result};
use crate::api;

/// The input of a handler.
pub(super) type Call<'a> = api::Call<'a, Stats>;

/// Default number of buckets: one day of hours.
const BUCKETS_DEFAULT: i64 = 24;

/// Default granularity.
const GRANULARITY_DEFAULT: &str = "1h";

impl Call<'_> {
    /// A required parameter.
    pub(super) fn required_parameter(&self, name: &str) -> Result<&str> {
        self.parameter(name)
            .ok_or_else(|| Problem::request(format!("the parameter {name} is missing")))
    }

    /// The metric in `metric` and `label`.
    pub(super) fn metric(&self) -> Result<Metric> {
        let mut metric = Metric::new(self.required_parameter("metric")?);
        for label in self.parameters("label") {
            let (name, value) = label.split_once('=').ok_or_else(|| {
                Problem::request(format!("label={label:?} is invalid; expected NAME=VALUE"))
            })?;
            let before = metric.labels.insert(name.to_owned(), value.to_owned());
            if before.is_some() {
                let detail = format!("the label {name:?} is given twice");
                return Err(Problem::request(detail));
            }
        }
        Ok(metric)
    }

    /// The range in `granularity`, `from`, `to` and `skip-blanks`.
    pub(super) fn range(&self) -> Result<Range> {
        let stats = self.service;
        let granularity = self.parameter("granularity").unwrap_or(GRANULARITY_DEFAULT);
        let granularity: Granularity = granularity.parse()?;
        let available = stats.settings().granularities;
        if !available.contains(&granularity) {
            let available: Vec<_> = available.iter().map(ToString::to_string).collect();
            let available = available.join(" ");
            let detail =
                format!("the granularity {granularity} is not configured; available: {available}");
            return Err(Problem::request(detail));
        }
        // The clock is read once: otherwise a range from now could begin after its end.
        let now = Timestamp::now();
        let to = time_at(stats, self.parameter("to"), now)?;
        let from = match self.parameter("from") {
            Some(from) => time_at(stats, Some(from), now)?,
            None => before(stats, granularity, to)?,
        };
        let range = Range::new(granularity, from, to);
        Ok(match self.flag("skip-blanks")? {
            true => range.skip_blanks(),
            false => range,
        })
    }

    /// A boolean parameter; false by default.
    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.parsed(name)?.unwrap_or(false))
    }
}

/// The start of a range of the default length that ends with the bucket of a time.
fn before(stats: &Stats, granularity: Granularity, to: Timestamp) -> Result<Timestamp> {
    let calendar = stats.calendar();
    let mut from = to;
    for _ in 1..BUCKETS_DEFAULT {
        let begin = calendar.bucket(granularity, from)?.start;
        match Timestamp::from_second(begin - 1) {
            Ok(earlier) => from = earlier,
            Err(_) => break,
        }
    }
    Ok(from)
}

/// Parses a time; the default is now.
pub(super) fn time(stats: &Stats, text: Option<&str>) -> Result<Timestamp> {
    time_at(stats, text, Timestamp::now())
}

fn time_at(stats: &Stats, text: Option<&str>, now: Timestamp) -> Result<Timestamp> {
    match text {
        None | Some("now") => Ok(now),
        Some(text) => Ok(stats.calendar().read_time(text)?),
    }
}

/// The metric in a request body.
pub(super) fn metric_of(name: String, labels: BTreeMap<String, String>) -> Metric {
    let mut metric = Metric::new(name);
    metric.labels = labels;
    metric
}
