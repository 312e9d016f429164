//! `espalier notifications settings`.

use clap::Args;
use espalier_store::EventSettings;
use serde_json::{Map, Value as Json, json};

use super::source::SourceOption;
use crate::settings::Settings;
use crate::times::{parse_duration, span_text};
use espalier_terminal::Result;
use espalier_terminal::output;

/// Show or change which notifications are kept, and which streams there are
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier notifications settings --store embedded:data
  espalier notifications settings --records-max 10000 --age-max 7d --store embedded:data
  espalier notifications settings --module-streams true --server http://127.0.0.1:8080")]
pub struct SettingsCommand {
    /// How many notifications are kept
    #[arg(long, value_name = "COUNT")]
    records_max: Option<u64>,

    /// How many bytes of notifications are kept
    #[arg(long, value_name = "BYTES")]
    bytes_max: Option<u64>,

    /// For how long notifications are kept, as in 90d
    #[arg(long, value_name = "SPAN")]
    age_max: Option<String>,

    /// Whether each module with notifications has a stream of its own
    #[arg(long, value_name = "BOOL")]
    module_streams: Option<bool>,

    /// Whether sessions and the phases of confirmed commits are recorded
    #[arg(long, value_name = "BOOL")]
    record_sessions: Option<bool>,

    #[command(flatten)]
    pub source_option: SourceOption,
}

impl SettingsCommand {
    pub fn run(&self, settings: Settings) -> Result<()> {
        let patch = self.patch()?;
        let source = self.source_option.open(settings)?;
        let settings = match patch.is_empty() {
            true => source.settings()?,
            false => source.change_settings(&Json::Object(patch))?,
        };
        let is_json = self.source_option.output_options.json;
        output::print_result(is_json, &json!(settings), &text(&settings))
    }

    fn patch(&self) -> Result<Map<String, Json>> {
        let age = self.age_max.as_deref().map(parse_duration).transpose()?;
        let given = [
            ("records-max", self.records_max.map(Json::from)),
            ("bytes-max", self.bytes_max.map(Json::from)),
            ("age-seconds-max", age.map(|age| Json::from(age.as_secs()))),
            ("module-streams", self.module_streams.map(Json::from)),
            ("record-sessions", self.record_sessions.map(Json::from)),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(given.collect())
    }
}

fn text(settings: &EventSettings) -> String {
    let word = |is_on: bool| match is_on {
        true => "yes",
        false => "no",
    };
    format!(
        "keeps {} notifications, {} bytes, for {}; module streams {}; records sessions {}",
        settings.records_max,
        settings.bytes_max,
        span_text(settings.age_seconds_max),
        word(settings.module_streams),
        word(settings.record_sessions),
    )
}
