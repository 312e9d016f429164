//! `espalier stats keys` and `delete`.

use clap::Args;
use serde_json::json;

use super::arguments::{MetricArguments, StoreOption};
use super::print;
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// List the metrics
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier stats keys --store embedded:counts
  espalier stats keys event:: --store embedded:counts --json")]
pub struct Keys {
    /// Only metrics whose names begin with this
    #[arg(value_name = "PREFIX", default_value = "")]
    prefix: String,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Keys {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.stats(settings)?;
        for metric in stats.keys(&self.prefix)? {
            if self.store_option.output_options.json {
                let value = json!({"metric": metric.name, "labels": metric.labels});
                output::print_result(true, &value, "")?;
            } else {
                print::line(&metric)?;
            }
        }
        Ok(())
    }
}

/// Delete a metric: its values, sketches and status
#[derive(Args, Debug)]
#[command(after_help = "\
Only the metric with exactly these labels (or none) is deleted.

Examples:
  espalier stats delete event::signup --store embedded:counts
  espalier stats delete http --label status=200 --store embedded:counts")]
pub struct Delete {
    #[command(flatten)]
    metric: MetricArguments,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Delete {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.stats(settings)?;
        let metric = self.metric.metric()?;
        if !stats.delete(metric.clone())? {
            return Err(Failure::data(format!("there is no metric {metric}"))
                .hint("`espalier stats keys` lists the metrics and their labels"));
        }
        let deleted = json!({"deleted": metric.name, "labels": metric.labels});
        output::print_result(self.store_option.output_options.json, &deleted, "")
    }
}
