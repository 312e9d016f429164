//! Printing notifications.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use espalier_service::SessionDatastore;
use espalier_service::notifications::{
    Delivery, Encoding, EventFilter, NETCONF_STREAM, SubscriptionOptions,
};
use espalier_store::Timestamp;
use serde_json::Value as Json;

use super::source::{Source, SourceOption, terminated};
use crate::endpoint::Remote;
use crate::settings::Settings;
use crate::times::{past_time, rfc3339};
use espalier_terminal::Result;
use espalier_terminal::output::{self, Form};

/// The wait for the next event; there is no end to it.
const WAIT: Duration = Duration::from_secs(3600);

/// Which notifications are shown.
#[derive(Args, Debug)]
pub struct Events {
    /// The event stream
    #[arg(long, value_name = "NAME", default_value = NETCONF_STREAM)]
    stream: String,

    /// Since this time: RFC 3339, or a span before now, as in 7d; by default all that are recorded, or with --follow only
    /// those that follow
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Until this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Wait for those that follow
    #[arg(long)]
    follow: bool,

    /// An XPath expression; a notification is shown if it is true, or selects nodes
    #[arg(long, value_name = "XPATH")]
    filter: Option<String>,

    #[command(flatten)]
    pub source_option: SourceOption,
}

/// When to receive events.
struct Times {
    start: Option<Timestamp>,
    stop: Option<Timestamp>,
}

impl Events {
    /// Prints the events.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let times = self.times()?;
        let source = self.source_option.open(settings)?;
        match &source {
            Source::Store(local) => self.of_store(local.datastore(), &times),
            Source::Server(server) => self.of_server(server, &times),
        }
    }

    fn times(&self) -> Result<Times> {
        let since = self.since.as_deref().map(past_time).transpose()?;
        let all = (!self.follow || self.until.is_some()).then(Timestamp::default);
        Ok(Times {
            start: since.or(all),
            stop: self.until.as_deref().map(past_time).transpose()?,
        })
    }

    fn of_store(&self, running: &SessionDatastore, times: &Times) -> Result<()> {
        let filter = self.filter.as_deref().map(EventFilter::parse_xpath);
        let filter = filter.transpose().map_err(espalier_store::Error::from)?;
        let mut subscription = running.subscribe(SubscriptionOptions {
            stream: running.stream(&self.stream)?,
            filter: filter.map(Arc::new),
            start: times.start,
            stop: times.stop,
            from: None,
        })?;
        while !subscription.is_ended() {
            match subscription.next(WAIT)? {
                None => {}
                Some(Delivery::Event(event)) => self.print(event.document(Encoding::Json))?,
                Some(Delivery::ReplayComplete) if !self.follow => return Ok(()),
                Some(Delivery::ReplayComplete | Delivery::Completed) => {}
                Some(Delivery::Lost(count)) => report_lost(&count),
                Some(Delivery::Terminated(reason)) => return Err(terminated(reason)),
            }
        }
        Ok(())
    }

    fn of_server(&self, server: &Remote, times: &Times) -> Result<()> {
        let mut parameters = Vec::new();
        parameters.extend(self.filter.clone().map(|filter| ("filter", filter)));
        for (name, time) in [("start-time", times.start), ("stop-time", times.stop)] {
            parameters.extend(time.map(|time| (name, rfc3339(time))));
        }
        server.each_event(&self.stream, &parameters, &mut |message| {
            match message.kind.as_str() {
                "" => {}
                "lost" => {
                    let json: Json = serde_json::from_str(&message.data).unwrap_or_default();
                    report_lost(&json["events"]);
                    return Ok(true);
                }
                "terminated" => return Err(terminated(&message.data)),
                _ => return Ok(true),
            }
            match completion(&message.data) {
                None => {
                    self.print(message.data.as_bytes())?;
                    Ok(true)
                }
                Some("replayComplete") => Ok(self.follow),
                Some(_) => Ok(false),
            }
        })
    }

    /// Prints a document, as one line.
    fn print(&self, document: &[u8]) -> Result<()> {
        let mut out = output::stdout(Form::Text);
        if self.source_option.output_options.json {
            out.write_all(document)?;
        } else {
            let mut json: Json = serde_json::from_slice(document).unwrap_or_default();
            let mut event = json["ietf-restconf:notification"].take();
            let time = event["eventTime"].take();
            let members = event.as_object_mut();
            let content = members.map(|members| {
                members.remove("eventTime");
                Json::Object(std::mem::take(members))
            });
            let time = time.as_str().unwrap_or_default();
            write!(out, "{time} {}", content.unwrap_or_default())?;
        }
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(())
    }
}

/// The name of a notification that is no event: the end of the past events, or of the subscription.
fn completion(document: &str) -> Option<&'static str> {
    let json: Json = serde_json::from_str(document).ok()?;
    let event = &json["ietf-restconf:notification"];
    let names = ["replayComplete", "notificationComplete"];
    names
        .into_iter()
        .find(|name| event.get(format!("nc-notifications:{name}")).is_some())
}

fn report_lost(count: &dyn std::fmt::Display) {
    eprintln!(
        "{count} events are missing: they came faster than they were printed, or were deleted"
    );
}
