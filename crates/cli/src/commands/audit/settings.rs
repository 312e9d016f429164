//! `espalier audit settings`.

use clap::{Args, ValueEnum};
use espalier_service::audit::AuditSettings;
use serde_json::{Map, Value as Json, json};

use super::log::LogOption;
use crate::settings::Settings;
use crate::times::{parse_duration, span_text};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Whether records are made, and when they are stored.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// Nothing is recorded.
    Off,
    /// Within 200 ms: a killed process loses the records of that time.
    Relaxed,
    /// Before the response.
    Strict,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Reads,
    Writes,
    Logins,
    Denials,
    Operations,
}

/// Show or change what is recorded, and for how long it is kept
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier audit settings --store embedded:data
  espalier audit settings --mode strict --record reads --store embedded:data
  espalier audit settings --records-max 100000 --age-max 90d --store embedded:data")]
pub struct SettingsCommand {
    /// Whether records are made, and when they are stored
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    /// Also record these; by default all but reads are. May be repeated
    #[arg(long, value_enum, value_name = "KIND")]
    record: Vec<Kind>,

    /// Do not record these. May be repeated
    #[arg(long, value_enum, value_name = "KIND")]
    no_record: Vec<Kind>,

    /// How many records are kept
    #[arg(long, value_name = "COUNT")]
    records_max: Option<u64>,

    /// For how long records are kept, as in 90d
    #[arg(long, value_name = "SPAN")]
    age_max: Option<String>,

    #[command(flatten)]
    pub log_option: LogOption,
}

impl SettingsCommand {
    pub fn run(&self, settings: Settings) -> Result<()> {
        let patch = self.patch()?;
        let log = self.log_option.open(settings)?;
        let settings = match patch.is_empty() {
            true => log.settings()?,
            false => log.change_settings(&Json::Object(patch))?,
        };
        let is_json = self.log_option.output_options.json;
        output::print_result(is_json, &json!(settings), &text(&settings))
    }

    fn patch(&self) -> Result<Map<String, Json>> {
        let mut patch = Map::new();
        if let Some(mode) = self.mode {
            patch.insert("mode".to_owned(), name(mode));
        }
        let mut filter = Map::new();
        for (kinds, is_recorded) in [(&self.record, true), (&self.no_record, false)] {
            for &kind in kinds {
                if let Some(kind) = name(kind).as_str() {
                    filter.insert(kind.to_owned(), json!(is_recorded));
                }
            }
        }
        if !filter.is_empty() {
            patch.insert("filter".to_owned(), Json::Object(filter));
        }
        if let Some(records_max) = self.records_max {
            patch.insert("records-max".to_owned(), json!(records_max));
        }
        if let Some(age_max) = &self.age_max {
            let seconds = parse_duration(age_max)?.as_secs();
            patch.insert("age-seconds-max".to_owned(), json!(seconds));
        }
        if !self.record.is_empty() && filter_overlaps(&self.record, &self.no_record) {
            return Err(Failure::usage(
                "a kind is both in --record and in --no-record",
            ));
        }
        Ok(patch)
    }
}

fn filter_overlaps(record: &[Kind], no_record: &[Kind]) -> bool {
    let mut record = record.iter();
    record.any(|kind| no_record.iter().any(|other| name(*kind) == name(*other)))
}

/// The name of a value, as in the settings.
fn name(value: impl ValueEnum) -> Json {
    let name = value.to_possible_value();
    name.map_or(Json::Null, |value| json!(value.get_name()))
}

fn text(settings: &AuditSettings) -> String {
    let value = json!(settings);
    let kinds = value["filter"].as_object().into_iter().flatten();
    let kinds = kinds.filter(|(_, is_recorded)| **is_recorded == json!(true));
    let kinds: Vec<&str> = kinds.map(|(kind, _)| kind.as_str()).collect();
    format!(
        "mode {}; records {}; keeps {} records, for {}",
        value["mode"].as_str().unwrap_or_default(),
        kinds.join(", "),
        settings.records_max,
        span_text(settings.age_seconds_max),
    )
}
