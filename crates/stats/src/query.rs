//! Queries over several metrics: by name and labels, in groups, from one snapshot.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::bucket_reader::BucketReader;
use crate::limits::{BUCKETS_MAX, ROWS_AT_ONCE, SERIES_AT_ONCE};
use crate::metric_list::metrics_in;
use crate::stats::Stats;
use crate::{Error, Metric, Number, Path, PathValues, Point, Range, Result, Series};

/// The selection of metrics with one name, and how they are grouped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The name of the metrics.
    pub name: String,
    /// Labels that they must have, with these values. An empty value requires that the label is absent.
    pub labels: BTreeMap<String, String>,
    /// The labels to group by; metrics that differ in other labels are added up.
    pub group_by: Vec<String>,
    /// The range that is read of each metric.
    pub range: Range,
}

/// A group of metrics that were added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The values of the labels of `group_by`; empty for a label that is absent.
    pub labels: BTreeMap<String, String>,
    /// The number of metrics in the group.
    pub metrics: usize,
    /// The sums.
    pub series: Series,
}

impl Query {
    /// A query of all metrics with a name, in one group.
    pub fn new(name: impl Into<String>, range: Range) -> Self {
        Self {
            name: name.into(),
            labels: BTreeMap::new(),
            group_by: Vec::new(),
            range,
        }
    }

    /// Requires a label.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Groups by a label.
    #[must_use]
    pub fn group_by(mut self, label: impl Into<String>) -> Self {
        self.group_by.push(label.into());
        self
    }

    fn matches(&self, metric: &Metric) -> bool {
        let mut wanted = self.labels.iter();
        metric.name == self.name && wanted.all(|(name, value)| label(metric, name) == value)
    }

    fn group_of(&self, metric: &Metric) -> BTreeMap<String, String> {
        let labels = self.group_by.iter();
        labels
            .map(|name| (name.clone(), label(metric, name).to_owned()))
            .collect()
    }
}

fn too_many_buckets(groups: usize) -> Error {
    Error::limit(format!(
        "{groups} groups have more than {BUCKETS_MAX} buckets in total: skip blanks, choose longer buckets or a shorter range, or group by fewer labels"
    ))
}

fn label<'a>(metric: &'a Metric, name: &str) -> &'a str {
    metric.labels.get(name).map_or("", String::as_str)
}

impl Stats {
    /// The sums of the metrics that match a query, for each group, sorted by labels.
    pub fn query(&self, query: &Query) -> Result<Vec<Group>> {
        let named = self.layout.metrics_named(&query.name);
        let snapshot = self
            .driver
            .snapshot_with_prefetch(&|expected| expected.range(named.clone(), ROWS_AT_ONCE))?;
        let metrics = metrics_in(&*snapshot, &named)?;
        let mut groups: BTreeMap<BTreeMap<String, String>, (usize, BTreeMap<i64, PathValues>)> =
            BTreeMap::new();
        let matching = metrics.iter().filter(|metric| query.matches(metric));
        let matching: Vec<_> = matching.collect();
        let mut reader = BucketReader::new(self, &*snapshot);
        reader.read_many(&matching, query.range, &mut |metric, found| {
            let (count, sums) = groups.entry(query.group_of(metric)).or_default();
            *count += 1;
            let mut found = found.into_iter();
            found.try_for_each(|(start, values)| match sums.entry(start) {
                Entry::Vacant(sum) => {
                    sum.insert(values);
                    Ok(())
                }
                Entry::Occupied(mut sum) => sum.get_mut().add(&values),
            })
        })?;
        let (count, mut buckets) = (groups.len(), 0);
        let groups = groups.into_iter().map(|(labels, (metrics, sums))| {
            let points = self.fill_blanks(sums.into_iter().collect(), query.range)?;
            buckets += points.len();
            if buckets > BUCKETS_MAX {
                return Err(too_many_buckets(count));
            }
            Ok(Group {
                labels,
                metrics,
                series: Series::new(points),
            })
        });
        groups.collect()
    }

    /// The groups with the largest totals at a path, the largest first; groups without the value are left
    /// out.
    pub fn top(&self, query: &Query, path: &Path, count: usize) -> Result<Vec<(Group, Number)>> {
        let mut ranked = Vec::new();
        for group in self.query(query)? {
            let points = group.series.points().iter();
            let mut numbers = points.filter_map(|point| point.values.get(path)).peekable();
            if numbers.peek().is_some() {
                let total = numbers.try_fold(Number::ZERO, Number::plus)?;
                ranked.push((group, total));
            }
        }
        ranked.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
        ranked.truncate(count);
        Ok(ranked)
    }

    /// The values of several metrics, each over its range, from one snapshot.
    pub fn values_of_metrics(&self, metrics: &[(Metric, Range)]) -> Result<Vec<Vec<Point>>> {
        metrics.iter().try_for_each(|(metric, _)| metric.check())?;
        let snapshot = self.driver.snapshot_with_prefetch(&|expected| {
            for (metric, range) in metrics.iter().take(SERIES_AT_ONCE) {
                self.prefetch_buckets(metric, *range, expected);
            }
        })?;
        let mut reader = BucketReader::new(self, &*snapshot);
        let read = |(metric, range): &(Metric, Range)| {
            self.fill_blanks(reader.read(metric, *range)?, *range)
        };
        metrics.iter().map(read).collect()
    }
}
