//! `espalier notify`.

use std::io::Read;

use clap::Args;
use serde_json::json;

use super::source::SourceOption;
use crate::endpoint::NotifyBody;
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result, document};

/// The maximum size of the document.
const DOCUMENT_BYTES_MAX: u64 = 2 << 20;

/// Send a notification, which the models define
#[derive(Args, Debug)]
#[command(after_help = "\
It is validated and stored before the command ends. A user of a server needs a rule that permits the operation \
send-notification of espalier-notifications.

Examples:
  espalier notify link-down.json --store embedded:data
  espalier notify - --server http://127.0.0.1:8080 < link-down.json

where link-down.json has {\"espalier-network:link-down\": {\"device\": \"core-1\"}}; --parent names the node that \
contains a notification which the models define inside data.")]
pub struct Notify {
    /// The file with the notification as JSON, an object with one member; - for standard input
    file: String,

    /// The instance identifier of the node that contains the notification
    #[arg(
        long,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    parent: String,

    /// When the event occurred, in RFC 3339; by default now
    #[arg(long, value_name = "TIME")]
    time: Option<String>,

    #[command(flatten)]
    pub source_option: SourceOption,
}

impl Notify {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let body = NotifyBody {
            parent: self.parent.clone(),
            event_time: self.time.clone(),
            content: self.content()?,
        };
        let sequence = self.source_option.open(settings)?.notify(&body)?;
        let text = format!("sent: number {sequence} of the event log");
        let is_json = self.source_option.output_options.json;
        output::print_result(is_json, &json!({ "sequence": sequence }), &text)
    }

    fn content(&self) -> Result<serde_json::Value> {
        let mut text = Vec::new();
        let (input, _) = document::open(&self.file)?;
        input.take(DOCUMENT_BYTES_MAX).read_to_end(&mut text)?;
        serde_json::from_slice(&text)
            .map_err(|error| Failure::data(format!("this is no JSON: {error}")).in_file(&self.file))
    }
}
