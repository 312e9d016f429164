//! Notifications of a server.

use std::io::{BufRead, BufReader};

use espalier_service::notifications::SubscriptionId;
use espalier_store::EventSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::invocation::established;
use super::remote::{RESTCONF_ROOT, Remote};
use super::remote_error::failure_of;
use super::remote_versions::read_json;
use espalier_terminal::Result;
use espalier_terminal::path::percent_encoded;

/// The path in `serve` that sends a notification.
pub const NOTIFY_PATH: &str = "/espalier/notify";

/// The path of the settings of the event log.
pub const EVENT_SETTINGS_PATH: &str = "/espalier/notifications/settings";

/// A notification to send.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NotifyBody {
    /// The instance identifier of the node that contains it; empty for one at the top level.
    #[serde(default)]
    pub parent: String,
    /// When the event occurred, in RFC 3339.
    #[serde(default)]
    pub event_time: Option<String>,
    /// The notification: an object with one member.
    pub content: Json,
}

/// The result of sending.
#[derive(Debug, Serialize, Deserialize)]
pub struct SentBody {
    /// The sequence number in the event log.
    pub sequence: u64,
}

/// A message of an event stream.
pub struct Message {
    /// The kind; empty for a notification.
    pub kind: String,
    /// The content.
    pub data: String,
}

/// The path of an event stream, with query parameters.
pub fn event_stream_path(stream: &str, parameters: &[(&str, String)]) -> String {
    let query = parameters
        .iter()
        .map(|(name, value)| format!("{name}={}", percent_encoded(value)));
    let query = query.collect::<Vec<_>>().join("&");
    let stream = percent_encoded(stream);
    format!("{RESTCONF_ROOT}/streams/{stream}/json?{query}")
}

impl Remote {
    /// Sends a notification; returns its sequence number.
    pub fn notify(&self, body: &NotifyBody) -> Result<u64> {
        let sent: SentBody = read_json(self.post_json(NOTIFY_PATH, body)?)?;
        Ok(sent.sequence)
    }

    /// The settings of the event log.
    pub fn event_settings(&self) -> Result<EventSettings> {
        read_json(self.get(EVENT_SETTINGS_PATH, "application/json")?)
    }

    /// Changes them with a JSON Merge Patch.
    pub fn change_event_settings(&self, patch: &Json) -> Result<EventSettings> {
        read_json(self.post_json(EVENT_SETTINGS_PATH, patch)?)
    }

    /// Establishes a subscription (RFC 8639 §2.4.2). Returns the path of its notifications (RFC 8650 §3.1).
    pub fn establish(&self, terms: &Json) -> Result<String> {
        let SubscriptionId(id) = established(self, terms)?;
        Ok(format!("{RESTCONF_ROOT}/subscriptions/{id}"))
    }

    /// Receives the events of a path until they end, or `message` returns false.
    pub fn each_event(
        &self,
        path: &str,
        message: &mut dyn FnMut(Message) -> Result<bool>,
    ) -> Result<()> {
        let answer = self.get(path, "text/event-stream")?;
        if !answer.status().is_success() {
            return Err(failure_of(answer));
        }
        let lines = BufReader::new(answer.into_body().into_reader());
        let (mut kind, mut data) = (String::new(), Vec::new());
        for line in lines.lines() {
            let line = line?;
            if let Some(text) = line.strip_prefix("event: ") {
                kind = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data.push(text.to_owned());
            } else if line.is_empty() && !data.is_empty() {
                let next = Message {
                    kind: std::mem::take(&mut kind),
                    data: std::mem::take(&mut data).join("\n"),
                };
                if !message(next)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
