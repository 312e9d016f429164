//! `espalier stats beam` and `scan`.

use clap::Args;
use espalier_stats::{Beamed, Calendar, Status};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::arguments::{MetricArguments, StoreOption, time, usage};
use super::print;
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Set the status of a metric: any JSON; the latest is kept
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier stats beam worker::7 '{\"state\":\"up\",\"queue\":12}' --store embedded:counts")]
pub struct Beam {
    #[command(flatten)]
    metric: MetricArguments,

    /// The status
    #[arg(value_name = "JSON")]
    status: String,

    /// The time of the status [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Beam {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.stats(settings)?;
        let at = time(&stats, self.at.as_deref())?;
        let beamed = stats
            .beam(self.metric.metric()?, at, &self.status)
            .map_err(usage)?;
        let (outcome, text) = match beamed {
            Beamed::Latest => ("latest", ""),
            Beamed::Outdated => ("outdated", "a later status was there already; it stays"),
        };
        output::print_result(
            self.store_option.output_options.json,
            &json!({ "outcome": outcome }),
            text,
        )
    }
}

/// Print the latest status of a metric, or of all metrics with a name prefix
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier stats scan worker::7 --store embedded:counts
  espalier stats scan worker:: --prefix --store embedded:counts")]
pub struct Scan {
    #[command(flatten)]
    metric: MetricArguments,

    /// All metrics whose names begin with this
    #[arg(long, conflicts_with = "labels")]
    prefix: bool,

    #[command(flatten)]
    pub store_option: StoreOption,
}

#[derive(Serialize)]
struct StatusLine<'a> {
    metric: &'a str,
    labels: &'a std::collections::BTreeMap<String, String>,
    at: String,
    status: Box<RawValue>,
}

impl Scan {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.stats(settings)?;
        let statuses = if self.prefix {
            stats.statuses(&self.metric.name)?
        } else {
            let status = stats.scan(self.metric.metric()?)?;
            let none = || Failure::data(format!("{} has no status", self.metric.name));
            vec![status.ok_or_else(none)?]
        };
        let calendar = stats.calendar();
        for status in &statuses {
            if self.store_option.output_options.json {
                print::json(&status_line(status, &calendar)?)?;
            } else {
                let at = calendar.show_time(status.at);
                print::line(format_args!("{}  {at}  {}", status.metric, status.json))?;
            }
        }
        Ok(())
    }
}

fn status_line<'a>(status: &'a Status, calendar: &Calendar) -> Result<StatusLine<'a>> {
    let json = RawValue::from_string(status.json.clone());
    Ok(StatusLine {
        metric: &status.metric.name,
        labels: &status.metric.labels,
        at: calendar.show_time(status.at),
        status: json.map_err(|error| Failure::data(error.to_string()))?,
    })
}
