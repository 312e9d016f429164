//! `espalier stats configure`.

use clap::{Args, ValueEnum};
use espalier_stats::SystemMetric;
use espalier_stats::output::settings_json;
use serde_json::Value;

use super::arguments::{StoreOption, usage};
use crate::settings::Settings;
use crate::times;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Create the statistics of a store, or change their settings; print the settings
#[derive(Args, Debug)]
#[command(after_help = "\
Time zone and beginning of week determine where buckets begin, and cannot be changed later.

Examples:
  espalier stats configure --store embedded:counts --time-zone Europe/Prague --week-begins sunday
  espalier stats configure --store embedded:counts --granularities 1m,15m,1h,1d
  espalier stats configure --store embedded:counts --retention 1m=7d --retention 1h=90d")]
pub struct Configure {
    /// The time zone (IANA), such as Europe/Prague [default of a new store: UTC]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,

    /// The first day of weeks [default of a new store: monday]
    #[arg(long, value_name = "DAY")]
    week_begins: Option<String>,

    /// The lengths of buckets, each a number and s, m, h, d, w, mo, q or y
    /// [default of a new store: 1m,1h,1d,1w,1mo,1q,1y]
    #[arg(long, value_name = "LENGTH,...", value_delimiter = ',')]
    granularities: Vec<String>,

    /// How long buckets of a length are kept after their end; `for-ever` keeps them; may be repeated
    #[arg(long, value_name = "LENGTH=SPAN")]
    retention: Vec<String>,

    /// Whether each write is listed among the active metrics
    #[arg(long, value_name = "WHETHER")]
    list_active: Option<OnOff>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnOff {
    /// Writes are counted in the list of active metrics
    On,
    /// They are not, which halves the amount that is written
    Off,
}

impl Configure {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let stats = self.store_option.new_stats(settings)?;
        let mut chosen = stats.settings();
        self.change(&mut chosen)?;
        stats.configure(chosen)?;
        let value = settings_json(&stats.settings());
        let text = value.as_object().into_iter().flatten();
        let text: Vec<_> = text
            .map(|(name, value)| format!("{name:<14} {}", plain(value)))
            .collect();
        output::print_result(
            self.store_option.output_options.json,
            &value,
            &text.join("\n"),
        )
    }

    fn change(&self, chosen: &mut espalier_stats::Settings) -> Result<()> {
        let stored = chosen.clone();
        if let Some(zone) = &self.time_zone {
            chosen.time_zone.clone_from(zone);
        }
        if let Some(day) = &self.week_begins {
            chosen.week_begins = day.parse().map_err(usage)?;
        }
        if !self.granularities.is_empty() {
            let read = self.granularities.iter().map(|text| text.parse());
            chosen.granularities = read.collect::<espalier_stats::Result<_>>().map_err(usage)?;
        }
        for text in &self.retention {
            let (granularity, kept) = text.split_once('=').ok_or_else(|| {
                Failure::usage(format!(
                    "{text:?} is no retention; write LENGTH=SPAN, as in 1m=7d"
                ))
            })?;
            let granularity = granularity.parse().map_err(usage)?;
            if kept == "for-ever" {
                chosen.retention.remove(&granularity);
            } else {
                let is_known = chosen.granularities.contains(&granularity)
                    || stored.granularities.contains(&granularity);
                if !is_known {
                    let message = format!("{text}: nothing is counted by {granularity}");
                    let hint =
                        "count by it: --granularities LENGTH,..., or leave the retention out";
                    return Err(Failure::usage(message).hint(hint));
                }
                chosen
                    .retention
                    .insert(granularity, times::parse_duration(kept)?.as_secs());
            }
        }
        match self.list_active {
            Some(OnOff::On) => chosen.system = SystemMetric::Written,
            Some(OnOff::Off) => chosen.system = SystemMetric::Off,
            None => {}
        }
        Ok(())
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Object(names) if names.is_empty() => "for ever".to_owned(),
        Value::Object(names) => {
            let kept = names
                .iter()
                .map(|(name, seconds)| format!("{name}={seconds}s"));
            kept.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
