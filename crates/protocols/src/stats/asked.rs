//! What requests say of metrics, times and ranges.

use std::collections::BTreeMap;

use espalier_stats::{Granularity, Metric, Range, Stats, Timestamp};

use super::problem::{Problem, Result};
use crate::api;

/// What a handler gets.
pub(super) type Call<'a> = api::Call<'a, Stats>;

/// The buckets that a reading returns where nothing is said of its beginning: a day of hours.
const BUCKETS_USUAL: i64 = 24;

/// The granularity where nothing is said.
const GRANULARITY_USUAL: &str = "1h";

impl Call<'_> {
    /// A parameter that must be given.
    pub(super) fn needed(&self, name: &str) -> Result<&str> {
        self.parameter(name)
            .ok_or_else(|| Problem::request(format!("the parameter {name} is missing")))
    }

    /// The metric of `metric` and `label`.
    pub(super) fn metric(&self) -> Result<Metric> {
        let mut metric = Metric::new(self.needed("metric")?);
        for label in self.parameters("label") {
            let (name, value) = label.split_once('=').ok_or_else(|| {
                Problem::request(format!("label={label:?} is no label; write NAME=VALUE"))
            })?;
            let before = metric.labels.insert(name.to_owned(), value.to_owned());
            if before.is_some() {
                let detail = format!("the label {name:?} is given twice");
                return Err(Problem::request(detail));
            }
        }
        Ok(metric)
    }

    /// The range of `granularity`, `from` and `to`, with blanks or without.
    pub(super) fn range(&self) -> Result<Range> {
        let stats = self.service;
        let granularity = self.parameter("granularity").unwrap_or(GRANULARITY_USUAL);
        let granularity: Granularity = granularity.parse()?;
        let known = stats.settings().granularities;
        if !known.contains(&granularity) {
            let known: Vec<_> = known.iter().map(ToString::to_string).collect();
            let known = known.join(" ");
            let detail =
                format!("nothing is written at the granularity {granularity}; there are {known}");
            return Err(Problem::request(detail));
        }
        // One now: else a range from now would begin after it ends.
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

    /// A parameter that is `true` or `false`; the latter where it is not given.
    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.parsed(name)?.unwrap_or(false))
    }
}

/// The start of a range that ends with the bucket of a time, and has the usual number of buckets.
fn before(stats: &Stats, granularity: Granularity, to: Timestamp) -> Result<Timestamp> {
    let calendar = stats.calendar();
    let mut from = to;
    for _ in 1..BUCKETS_USUAL {
        let begin = calendar.bucket(granularity, from)?.start;
        match Timestamp::from_second(begin - 1) {
            Ok(earlier) => from = earlier,
            Err(_) => break,
        }
    }
    Ok(from)
}

/// A time that was given, or now.
pub(super) fn time(stats: &Stats, text: Option<&str>) -> Result<Timestamp> {
    time_at(stats, text, Timestamp::now())
}

fn time_at(stats: &Stats, text: Option<&str>, now: Timestamp) -> Result<Timestamp> {
    match text {
        None | Some("now") => Ok(now),
        Some(text) => Ok(stats.calendar().read_time(text)?),
    }
}

/// A metric, as bodies name it.
pub(super) fn named(name: String, labels: BTreeMap<String, String>) -> Metric {
    let mut metric = Metric::new(name);
    metric.labels = labels;
    metric
}
