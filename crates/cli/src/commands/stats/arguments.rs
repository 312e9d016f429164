//! Arguments of the commands: the store, the metric and times.

use std::sync::Arc;

use clap::Args;
use espalier_stats::{Metric, Stats, SystemClock, Timestamp};
use espalier_store::{Store, Subspace};

use crate::settings::Settings;
use espalier_terminal::{Failure, Result};

pub use crate::commands::store_option::StoreOption;

const CREATE_HINT: &str = "make one: espalier stats configure --store embedded:DIR";

/// The content of the store, for messages.
const CONTENT: &str = "statistics";

impl StoreOption {
    /// Opens the statistics of an existing store.
    pub fn stats(&self, settings: Settings) -> Result<Stats> {
        stats_of(&self.store(settings, CONTENT, CREATE_HINT)?)
    }

    /// Opens the statistics of a store, which is created if it does not exist.
    pub fn new_stats(&self, settings: Settings) -> Result<Stats> {
        stats_of(&self.new_store(settings, CONTENT)?)
    }
}

fn stats_of(store: &Store) -> Result<Stats> {
    let prefix = Subspace::Statistics.key();
    let driver = Arc::clone(store.driver());
    Ok(Stats::open(driver, &prefix, Arc::new(SystemClock))?)
}

/// A metric, as arguments name it.
#[derive(Args, Clone, Debug)]
pub struct MetricArguments {
    /// The name of the metric, such as `event::signup`
    #[arg(value_name = "METRIC")]
    pub name: String,

    /// A label and its value; may be repeated. Each combination of labels is a metric of its own
    #[arg(long = "label", value_name = "NAME=VALUE")]
    pub labels: Vec<String>,
}

impl MetricArguments {
    /// The metric.
    pub fn metric(&self) -> Result<Metric> {
        let mut metric = Metric::new(&self.name);
        for label in &self.labels {
            let (name, value) = label.split_once('=').ok_or_else(|| {
                Failure::usage(format!("{label:?} is no label; write NAME=VALUE"))
            })?;
            let before = metric.labels.insert(name.to_owned(), value.to_owned());
            if before.is_some() {
                return Err(Failure::usage(format!("the label {name:?} is given twice")));
            }
        }
        Ok(metric)
    }
}

/// Parses a time; the current time if none is given.
pub fn time(stats: &Stats, text: Option<&str>) -> Result<Timestamp> {
    match text {
        None | Some("now") => Ok(Timestamp::now()),
        Some(text) => stats.calendar().read_time(text).map_err(usage),
    }
}

/// The failure of an invalid argument.
pub fn usage(error: espalier_stats::Error) -> Failure {
    Failure::usage(error.to_string())
}
