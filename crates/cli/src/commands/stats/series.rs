//! `espalier stats series`.

use std::collections::BTreeMap;

use clap::{ArgGroup, Args};
use espalier_stats::{Aggregate, Calendar, Expression, Group, Number, Path, Pattern, Query, Stats};
use serde::Serialize;

use super::arguments::{MetricArguments, StoreOption, usage};
use super::print;
use super::range::RangeArguments;
use crate::settings::Settings;
use espalier_terminal::{Failure, Result};

/// Plot a metric, or compute values from it
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("made").args(["aggregate", "category", "top", "quantiles"]))]
#[command(after_help = "\
Without --label and --group-by, metrics of the name are added up over all labels. In --path, * matches any name, \
and a path selects all values below it. With --aggregate or --quantiles, and with --group-by and --top together, the \
path must select exactly one value. All slices have the same number of buckets; surplus buckets at the old end are omitted.

Examples:
  espalier stats series http --granularity 1h --path 'status.*' --store embedded:counts
  espalier stats series http -g 1d --last 30d --aggregate sum --path count --slices 3 \\
      --store embedded:counts
  espalier stats series http --of sum --of count --expression 'a / b' --as average --path average \\
      --store embedded:counts
  espalier stats series http --group-by host --path count --top 5 --store embedded:counts
  espalier stats series http::latency --path ms --quantiles 0.5,0.9,0.99 --json \\
      --store embedded:counts")]
pub struct Series {
    #[command(flatten)]
    metric: MetricArguments,

    #[command(flatten)]
    span: RangeArguments,

    /// The values to show [default: all]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,

    /// The number of parts of the range, the oldest first
    #[arg(long, default_value_t = 1, conflicts_with_all = ["top", "quantiles"])]
    slices: usize,

    /// One number of the values: sum, mean, min, max or count
    #[arg(long)]
    aggregate: Option<String>,

    /// The total of each path
    #[arg(long)]
    category: bool,

    /// The paths with the largest totals; with --group-by, the groups
    #[arg(long, value_name = "COUNT")]
    top: Option<usize>,

    /// Quantiles of the observed values, each between 0 and 1
    #[arg(
        long,
        value_name = "QUANTILE,...",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "expression"
    )]
    quantiles: Vec<f64>,

    /// Show metrics that differ in this label separately; may be repeated
    #[arg(long, value_name = "LABEL")]
    group_by: Vec<String>,

    /// A path that an expression calls a, b, ... in this order; may be repeated
    #[arg(long, value_name = "PATH", requires = "expression")]
    of: Vec<String>,

    /// A value computed from others: + - * / ( ) sum mean (or avg) min max sqrt
    #[arg(long, requires_all = ["of", "result"], allow_hyphen_values = true)]
    expression: Option<String>,

    /// The path of the computed value
    #[arg(
        long = "as",
        id = "result",
        value_name = "PATH",
        requires = "expression"
    )]
    result: Option<String>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

/// One line of the JSON output.
#[derive(Serialize)]
struct JsonLine<T: Serialize> {
    labels: BTreeMap<String, String>,
    #[serde(flatten)]
    made: T,
}

impl Series {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.stats(settings)?;
        if !self.quantiles.is_empty() {
            return self.quantiles(&stats);
        }
        let query = self.query(&stats)?;
        if let Some(count) = self.top.filter(|_| !self.group_by.is_empty()) {
            return self.top_groups(&stats, &query, count);
        }
        let mut groups = stats.query(&query)?;
        if groups.is_empty() {
            return Err(no_metric(&query));
        }
        self.compute(&mut groups)?;
        let calendar = stats.calendar();
        groups
            .iter()
            .try_for_each(|group| self.show(group, &calendar))
    }

    fn query(&self, stats: &Stats) -> Result<Query> {
        let metric = self.metric.metric()?;
        let mut query = Query::new(metric.name, self.span.range(stats)?);
        query.labels = metric.labels;
        query.group_by.clone_from(&self.group_by);
        Ok(query)
    }

    /// The single path that is named.
    fn exact_path(&self) -> Result<Path> {
        let path = self.path.as_deref().ok_or_else(|| {
            Failure::usage("the path of the value is missing").hint("add --path PATH")
        })?;
        path.parse().map_err(usage)
    }

    fn pattern(&self) -> Result<Pattern> {
        let path = self.path.as_deref().unwrap_or("*");
        path.parse().map_err(usage)
    }

    fn compute(&self, groups: &mut [Group]) -> Result<()> {
        let (Some(text), Some(result)) = (&self.expression, &self.result) else {
            return Ok(());
        };
        let paths = self.of.iter().map(|path| path.parse().map_err(usage));
        let expression = Expression::parse(&paths.collect::<Result<Vec<_>>>()?, text);
        let expression = expression.map_err(usage)?;
        let result = result.parse().map_err(usage)?;
        for group in groups {
            group.series.transpond(&expression, &result);
        }
        Ok(())
    }

    fn show(&self, group: &Group, calendar: &Calendar) -> Result<()> {
        let pattern = self.pattern()?;
        if let Some(aggregate) = &self.aggregate {
            return self.show_aggregate(group, aggregate.parse().map_err(usage)?);
        }
        if let Some(count) = self.top {
            let top = group.series.top(&pattern, count)?;
            return self.show_totals(group, "top", &[top]);
        }
        if self.category {
            let slices = group
                .series
                .category(&pattern, self.slices)
                .map_err(usage)?;
            let slices: Vec<_> = slices
                .into_iter()
                .map(|totals| totals.into_iter().collect())
                .collect();
            return self.show_totals(group, "category", &slices);
        }
        self.show_timeline(group, &pattern, calendar)
    }

    fn show_aggregate(&self, group: &Group, aggregate: Aggregate) -> Result<()> {
        let path = self.exact_path()?;
        let numbers = group
            .series
            .aggregate(aggregate, &path, self.slices)
            .map_err(usage)?;
        if self.store_option.output_options.json {
            let made = BTreeMap::from([(aggregate.as_str(), numbers)]);
            return self.show_json(group, made);
        }
        for number in numbers {
            let number = number.map_or_else(|| "-".to_owned(), |number| number.to_string());
            print::line(format_args!("{}{number}", prefix(group)))?;
        }
        Ok(())
    }

    fn show_totals(
        &self,
        group: &Group,
        name: &str,
        slices: &[Vec<(String, Number)>],
    ) -> Result<()> {
        if self.store_option.output_options.json {
            let made = BTreeMap::from([(name, slices)]);
            return self.show_json(group, made);
        }
        for totals in slices {
            let row = |(path, total): &(String, Number)| {
                vec![format!("{}{path}", prefix(group)), total.to_string()]
            };
            let rows: Vec<_> = totals.iter().map(row).collect();
            print::text(&print::aligned(&rows))?;
        }
        Ok(())
    }

    fn show_timeline(&self, group: &Group, pattern: &Pattern, calendar: &Calendar) -> Result<()> {
        let lines = group.series.timeline(pattern, self.slices).map_err(usage)?;
        if self.store_option.output_options.json {
            let lines = lines.iter().map(|(path, slices)| {
                let slices = slices.iter().map(|points| {
                    let points = points
                        .iter()
                        .map(|(at, number)| (calendar.show_time(*at), *number));
                    points.collect::<Vec<_>>()
                });
                (path.to_string(), slices.collect::<Vec<_>>())
            });
            let lines: BTreeMap<_, _> = lines.collect();
            return self.show_json(group, BTreeMap::from([("timeline", lines)]));
        }
        let mut rows = Vec::new();
        for (path, slices) in &lines {
            for points in slices {
                let numbers: Vec<_> = points.iter().map(|(_, number)| *number).collect();
                rows.push(summary(&format!("{}{path}", prefix(group)), &numbers)?);
            }
        }
        print::text(&print::aligned(&rows))
    }

    fn show_json(&self, group: &Group, made: impl Serialize) -> Result<()> {
        print::json(&JsonLine {
            labels: group.labels.clone(),
            made,
        })
    }

    fn top_groups(&self, stats: &Stats, query: &Query, count: usize) -> Result<()> {
        let groups = stats.top(query, &self.exact_path()?, count)?;
        if groups.is_empty() && stats.query(query)?.is_empty() {
            return Err(no_metric(query));
        }
        for (group, total) in groups {
            if self.store_option.output_options.json {
                self.show_json(&group, BTreeMap::from([("total", total)]))?;
            } else {
                print::line(format_args!("{}{total}", prefix(&group)))?;
            }
        }
        Ok(())
    }

    fn quantiles(&self, stats: &Stats) -> Result<()> {
        if !self.group_by.is_empty() {
            return Err(Failure::usage(
                "--quantiles are of one metric, without --group-by",
            ));
        }
        let range = self.span.range(stats)?;
        let sketch = stats.sketch(self.metric.metric()?, range, &self.exact_path()?)?;
        let mut found = Vec::new();
        for &quantile in &self.quantiles {
            let value = sketch.quantile(quantile).map_err(usage)?;
            found.push((quantile, value));
        }
        if self.store_option.output_options.json {
            let values = found
                .iter()
                .map(|(quantile, value)| (quantile.to_string(), *value));
            let values: BTreeMap<_, _> = values.collect();
            return print::json(&serde_json::json!({"count": sketch.count(), "quantiles": values}));
        }
        let rows = found.iter().map(|(quantile, value)| {
            let value = value.map_or_else(|| "-".to_owned(), |value| value.to_string());
            vec![quantile.to_string(), value]
        });
        print::text(&print::aligned(&rows.collect::<Vec<_>>()))
    }
}

fn no_metric(query: &Query) -> Failure {
    let labels = match query.labels.is_empty() {
        true => "",
        false => " with these labels",
    };
    Failure::data(format!("there is no metric {}{labels}", query.name))
        .hint("`espalier stats keys` lists the metrics and their labels")
}

/// A sparkline, with a summary of its numbers.
fn summary(name: &str, numbers: &[Option<Number>]) -> Result<Vec<String>> {
    let mut row = vec![format!("{name}  {}", print::sparkline(numbers))];
    for aggregate in [Aggregate::Sum, Aggregate::Min, Aggregate::Max] {
        let number = aggregate.of(numbers.iter().flatten().copied())?;
        let number = number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        row.push(format!("{} {number}", aggregate.as_str()));
    }
    Ok(row)
}

/// The labels of a group, as the prefix of its output.
fn prefix(group: &Group) -> String {
    let labels = group
        .labels
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let mut text = labels.collect::<Vec<_>>().join(" ");
    if !text.is_empty() {
        text.push_str("  ");
    }
    text
}
