//! Printing notifications.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use espalier_service::notifications::{
    Delivery, Encoding, EventFilter, EventSource, NETCONF_STREAM, Subscription,
    SubscriptionOptions, time_text,
};
use espalier_store::Timestamp;
use espalier_yang::{DataError, ErrorTag};
use serde_json::{Value as Json, json};

use super::source::{Source, SourceOption, terminated};
use crate::commands::edit::EDIT_BYTES_MAX;
use crate::endpoint::{Local, Message, Remote, event_stream_path};
use crate::settings::Settings;
use crate::times::past_time;
use espalier_terminal::output::{self, Form};
use espalier_terminal::{Failure, Result, document};

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

    /// A file with a subtree filter (RFC 6241 §6) as JSON; a notification is shown if the filter selects anything of it; -
    /// for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "filter")]
    subtree: Option<String>,

    /// Print the data of a datastore that the filter selects, and each change of it, in place of notifications (RFC 8641):
    /// running or startup
    #[arg(long, value_name = "DATASTORE", conflicts_with_all = ["stream", "since"])]
    push: Option<String>,

    /// With --push: print all selected data of any datastore every so many seconds
    #[arg(long, value_name = "SECONDS", requires = "push", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    period: Option<u32>,

    #[command(flatten)]
    pub source_option: SourceOption,
}

/// When to receive events.
struct Times {
    start: Option<Timestamp>,
    stop: Option<Timestamp>,
}

/// Whether further messages are received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    End,
}

impl Events {
    /// Prints the events.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let times = self.times()?;
        let subtree = self.subtree.as_deref().map(subtree).transpose()?;
        let source = self.source_option.open(settings)?;
        if let Some(datastore) = &self.push {
            let terms = self.push_terms(datastore, subtree, &times);
            return match &source {
                Source::Store(local) => self.of_store(local.establish(&terms)?),
                Source::Server(server) => self.of_server(server, &server.establish(&terms)?),
            };
        }
        match (&source, subtree) {
            (Source::Store(local), subtree) => {
                let subscription = match subtree {
                    None => self.subscribe(local, &times)?,
                    Some(subtree) => local.establish(&self.terms(subtree, &times))?,
                };
                self.of_store(subscription)
            }
            (Source::Server(server), None) => {
                let path = event_stream_path(&self.stream, &self.parameters(&times));
                self.of_server(server, &path)
            }
            (Source::Server(server), Some(subtree)) => {
                let path = server.establish(&self.terms(subtree, &times))?;
                self.of_server(server, &path)
            }
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

    fn subscribe(&self, local: &Local, times: &Times) -> Result<Subscription> {
        let running = local.datastore();
        let filter = self.filter.as_deref().map(EventFilter::parse_xpath);
        let filter = filter.transpose().map_err(espalier_store::Error::from)?;
        Ok(running.subscribe(SubscriptionOptions {
            stream: running.stream(&self.stream)?,
            filter: filter.map(Arc::new),
            start: times.start,
            stop: times.stop,
            from: None,
        })?)
    }

    /// The input of `establish-subscription` (RFC 8639 §2.4.2): a request for a stream has no subtree filter.
    fn terms(&self, subtree: Json, times: &Times) -> Json {
        let mut terms = json!({
            "stream": self.stream,
            "stream-subtree-filter": subtree,
            "encoding": "encode-json",
        });
        let times = [
            ("replay-start-time", times.start),
            ("stop-time", times.stop),
        ];
        for (name, time) in times {
            if let Some(time) = time {
                terms[name] = time_text(time).into();
            }
        }
        terms
    }

    /// The input of `establish-subscription` to a datastore (RFC 8641 §4.4.1).
    fn push_terms(&self, datastore: &str, subtree: Option<Json>, times: &Times) -> Json {
        let mut terms = json!({
            "ietf-yang-push:datastore": format!("ietf-datastores:{datastore}"),
            "encoding": "encode-json",
        });
        match self.period {
            Some(seconds) => {
                terms["ietf-yang-push:periodic"] = json!({"period": seconds * 100});
            }
            None => terms["ietf-yang-push:on-change"] = json!({}),
        }
        if let Some(subtree) = subtree {
            terms["ietf-yang-push:datastore-subtree-filter"] = subtree;
        }
        if let Some(filter) = &self.filter {
            terms["ietf-yang-push:datastore-xpath-filter"] = json!(filter);
        }
        if let Some(stop) = times.stop {
            terms["stop-time"] = time_text(stop).into();
        }
        terms
    }

    /// The query parameters of a request for a stream (RFC 8040 §4.8).
    fn parameters(&self, times: &Times) -> Vec<(&'static str, String)> {
        let filter = self.filter.clone().map(|filter| ("filter", filter));
        let times = [("start-time", times.start), ("stop-time", times.stop)];
        let times = times
            .into_iter()
            .filter_map(|(name, time)| Some((name, time_text(time?))));
        filter.into_iter().chain(times).collect()
    }

    fn of_store(&self, mut subscription: Subscription) -> Result<()> {
        while !subscription.is_ended() {
            let flow = match subscription.next(WAIT)? {
                Some(Delivery::Event(event)) => {
                    let document = event.document(Encoding::Json);
                    match event.source() {
                        EventSource::Subscription if !event.is_push_update() => {
                            self.of_subscription(document)?
                        }
                        _ => self.print(document)?,
                    }
                }
                Some(Delivery::ReplayComplete) => self.after_replay(),
                None | Some(Delivery::Completed) => Flow::Continue,
                Some(Delivery::Lost(count)) => report_lost(&count),
                Some(Delivery::Terminated(reason)) => return Err(terminated(reason)),
            };
            if flow == Flow::End {
                return Ok(());
            }
        }
        Ok(())
    }

    fn of_server(&self, server: &Remote, path: &str) -> Result<()> {
        let mut is_complete = false;
        server.each_event(path, &mut |message| {
            let flow = self.of_message(&message)?;
            is_complete = flow == Flow::End;
            Ok(!is_complete)
        })?;
        // A subscription ends without a message at its stop time.
        if is_complete || self.until.is_some() {
            return Ok(());
        }
        let message =
            "the server ended the event stream: it was stopped, or the connection was lost";
        Err(Failure::data(message).hint(
            "start again with --since TIME, the time of the last notification: those that are recorded are not lost",
        ))
    }

    fn of_message(&self, message: &Message) -> Result<Flow> {
        let document = message.data.as_bytes();
        match message.kind.as_str() {
            "" if is_of_subscription(&message.data) => self.of_subscription(document),
            "" => self.print(document),
            "lost" => {
                let json: Json = serde_json::from_slice(document).unwrap_or_default();
                Ok(report_lost(&json["events"]))
            }
            "terminated" => Err(terminated(&message.data)),
            _ => Ok(Flow::Continue),
        }
    }

    /// Receives a notification about the subscription.
    fn of_subscription(&self, document: &[u8]) -> Result<Flow> {
        let json: Json = serde_json::from_slice(document).unwrap_or_default();
        let event = json["ietf-restconf:notification"].as_object();
        let named = event.and_then(|event| event.iter().find(|(name, _)| *name != "eventTime"));
        let Some((name, content)) = named else {
            return Ok(Flow::Continue);
        };
        match name.split_once(':').map_or("", |(_, name)| name) {
            "replayComplete" | "replay-completed" => Ok(self.after_replay()),
            "notificationComplete" => Ok(Flow::End),
            "subscription-terminated" => {
                let reason = content["reason"].as_str().unwrap_or_default();
                Err(terminated(reason))
            }
            _ => Ok(Flow::Continue),
        }
    }

    fn after_replay(&self) -> Flow {
        match self.follow {
            true => Flow::Continue,
            false => Flow::End,
        }
    }

    /// Prints a document, as one line.
    fn print(&self, document: &[u8]) -> Result<Flow> {
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
        Ok(Flow::Continue)
    }
}

/// Reads a subtree filter.
fn subtree(file: &str) -> Result<Json> {
    let mut text = Vec::new();
    let (input, _) = document::open(file)?;
    input.take(EDIT_BYTES_MAX).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(|error| {
        let message = format!("the filter is no JSON: {error}");
        let detail = DataError::new(ErrorTag::MalformedMessage, message.clone());
        Failure::data(message).detail(detail).in_file(file)
    })
}

/// Whether a document of a server is that of a notification about the subscription, and not of an event.
fn is_of_subscription(document: &str) -> bool {
    // The first member is the time, the second one has the name of the notification.
    let second = document.split_once("\",\"").map_or("", |(_, rest)| rest);
    let modules = ["nc-notifications:", "ietf-subscribed-notifications:"];
    modules.iter().any(|module| second.starts_with(module))
}

fn report_lost(count: &dyn std::fmt::Display) -> Flow {
    eprintln!(
        "{count} events are missing: they came faster than they were printed, or were deleted"
    );
    Flow::Continue
}
