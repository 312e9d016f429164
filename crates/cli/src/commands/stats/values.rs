//! `espalier stats values`.

use clap::{Args, ValueEnum};
use espalier_stats::output;

use super::arguments::{MetricArguments, StoreOption};
use super::print;
use super::range::RangeArguments;
use crate::settings::Settings;
use espalier_terminal::Result;

/// Print the values of a metric over a range
#[derive(Args, Debug)]
#[command(after_help = "\
Prints the metric with exactly these labels. `espalier stats keys` lists metrics and labels; `espalier stats \
series` adds up metrics that differ in labels.

Examples:
  espalier stats values event::signup --granularity 1h --store embedded:counts
  espalier stats values event::signup -g 1d --from 2025-03-01 --to 2025-03-31 --format csv \\
      --store embedded:counts
  espalier stats values http --label status=200 --last 30d -g 1d --skip-blanks --json \\
      --store embedded:counts")]
pub struct Values {
    #[command(flatten)]
    metric: MetricArguments,

    #[command(flatten)]
    span: RangeArguments,

    /// The output format; with --json, JSON
    #[arg(long, default_value = "table")]
    format: Format,

    #[command(flatten)]
    pub store_option: StoreOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Columns
    Table,
    /// `{"at": [...], "values": [...]}`
    Json,
    /// A line for each bucket, a column for each value (RFC 4180)
    Csv,
}

impl Values {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.stats(settings)?;
        let points = stats.values(self.metric.metric()?, self.span.range(&stats)?)?;
        let calendar = stats.calendar();
        match self.format {
            _ if self.store_option.output_options.json => {
                print::json_text(&output::json(&points, &calendar)?)
            }
            Format::Json => print::json_text(&output::json(&points, &calendar)?),
            Format::Csv => print::text(&output::csv(&points, &calendar)),
            Format::Table => print::text(&print::table(&points, &calendar)),
        }
    }
}
