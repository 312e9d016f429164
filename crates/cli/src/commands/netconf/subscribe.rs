//! `subscribe`.

use std::io::{Write, stderr};

use clap::Args;
use espalier_protocols::netconf::Element;
use espalier_protocols::netconf_client::operations::{
    PushOptions, PushTrigger, SubscribeOptions, create_subscription, establish_push,
    establish_subscription, indented,
};
use espalier_protocols::netconf_client::{ClientError, Notification, Notifications};
use espalier_service::notifications::{parse_time, time_text};
use espalier_terminal::output::escaped;
use espalier_terminal::{Failure, Result};
use serde_json::{Value, json};

use super::as_json;
use super::context::{Context, DataForm};
use super::failure::of_client;
use super::filter::FilterOptions;
use super::output::{malformed, print_line, print_xml};
use super::payload::datastore;
use crate::times::past_time;

/// Subscribe to notifications and print them as they arrive, until --stop, --count or ctrl-c (RFC 5277)
#[derive(Args, Debug)]
#[command(after_help = "\
With --json each notification is an object in a line, with its time, its name and its XML. With --output json it is in a line \
as `espalier notifications --json` prints it (RFC 8040 §6.4).

Examples:
  espalier netconf maria@router.example subscribe
  espalier netconf maria@router.example subscribe --start 1h
  espalier netconf maria@router.example subscribe --rfc8639 --xpath '/ietf-interfaces:*' --json
  espalier netconf maria@router.example subscribe --datastore running --xpath /ietf-interfaces:interfaces
  espalier netconf maria@router.example subscribe --datastore operational --period 10 --output json
  espalier netconf call-home+ssh://maria@0.0.0.0:4334 subscribe --configured --json")]
pub struct Subscribe {
    /// The event stream [default: NETCONF]
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,

    #[command(flatten)]
    filter: FilterOptions,

    /// Past notifications since this time too: RFC 3339, or a span before now, as in 1h
    #[arg(long, value_name = "TIME")]
    start: Option<String>,

    /// The end, a time as that of --start; it may be in the past with --start
    #[arg(long, value_name = "TIME")]
    stop: Option<String>,

    /// Print the data of a datastore that the filter selects, in place of notifications (RFC 8641): running, operational, ...
    #[arg(long, visible_alias = "push", value_name = "DATASTORE",
        conflicts_with_all = ["stream", "start", "configured"])]
    datastore: Option<String>,

    /// With --datastore: all selected data, every so many seconds
    #[arg(long, value_name = "SECONDS", requires = "datastore",
        value_parser = clap::value_parser!(u32).range(1..=86_400))]
    period: Option<u32>,

    /// With --datastore: all selected data, then each change of them; so it is without --period
    #[arg(long, requires = "datastore", conflicts_with = "period")]
    on_change: bool,

    /// With --datastore: the least time between two notifications of changes
    #[arg(long, value_name = "SECONDS", requires = "datastore", conflicts_with = "period",
        value_parser = clap::value_parser!(u32).range(1..=86_400))]
    dampening: Option<u32>,

    /// End after this number of notifications
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Use establish-subscription (RFC 8639) in place of create-subscription
    #[arg(long)]
    rfc8639: bool,

    /// Print what the server sends by its own configuration: a target of call home is a receiver (RFC 8639 §2.5)
    #[arg(long, conflicts_with_all = ["stream", "start", "stop", "rfc8639", "subtree", "xpath"])]
    configured: bool,
}

/// What a notification means for its subscription.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Event,
    /// The replay or the subscription goes on.
    State,
    Complete,
    Terminated,
}

impl Subscribe {
    /// Checks the arguments.
    pub fn check(&self) -> Result<()> {
        self.start.as_deref().map(time).transpose()?;
        self.stop.as_deref().map(time).transpose()?;
        match &self.datastore {
            Some(name) => datastore(name),
            None => Ok(()),
        }
    }

    /// Subscribes, and prints notifications.
    pub fn run(&self, context: &Context) -> Result<()> {
        if context.form.output == Some(DataForm::Json) {
            // A server without `interleave` accepts no other requests later.
            context.schema()?;
        }
        let request = self.request(context)?;
        let mut notifications = context.notifications()?;
        let done = match request {
            Some(request) => context.request(request).map(drop),
            None => Ok(()),
        };
        let done = done.and_then(|()| self.receive(context, &mut notifications));
        context.keep(notifications);
        done
    }

    /// The request; `None` if the server sends by itself.
    fn request(&self, context: &Context) -> Result<Option<String>> {
        if self.configured {
            return Ok(None);
        }
        let filter = self.filter.filter(context)?;
        let stop = self.stop.as_deref().map(time).transpose()?;
        if let Some(datastore) = &self.datastore {
            return Ok(Some(establish_push(&PushOptions {
                datastore: datastore.clone(),
                filter,
                trigger: self.trigger(),
                stop,
            })));
        }
        let options = SubscribeOptions {
            stream: self.stream.clone(),
            filter,
            start: self.start.as_deref().map(time).transpose()?,
            stop,
        };
        Ok(Some(match self.rfc8639 {
            true => establish_subscription(&options),
            false => create_subscription(&options),
        }))
    }

    fn trigger(&self) -> PushTrigger {
        match self.period {
            Some(seconds) => PushTrigger::Periodic {
                period_centiseconds: seconds * 100,
            },
            None => PushTrigger::OnChange {
                dampening_centiseconds: self.dampening.map(|seconds| seconds * 100),
            },
        }
    }

    fn receive(&self, context: &Context, notifications: &mut Notifications) -> Result<()> {
        let mut count = 0;
        while let Some(notification) = self.next(context, notifications)? {
            let meaning = print(context, &notification)?;
            report_lost(notifications);
            match meaning {
                Meaning::Event => count += 1,
                Meaning::State => {}
                // A receiver can have several.
                Meaning::Complete | Meaning::Terminated if self.configured => {}
                Meaning::Complete => break,
                Meaning::Terminated => {
                    return Err(Failure::data("the server ended the subscription"));
                }
            }
            if self.count == Some(count) {
                break;
            }
        }
        Ok(())
    }

    /// The next notification; `None` after an interrupt, and at the end of a subscription with a stop time.
    fn next(
        &self,
        context: &Context,
        notifications: &mut Notifications,
    ) -> Result<Option<Notification>> {
        let next = context.client.runtime.block_on(async {
            tokio::select! {
                next = notifications.next() => next.map(Some),
                _ = tokio::signal::ctrl_c() => Ok(None),
            }
        });
        match next {
            // A session with a subscription only may end with it.
            Err(ClientError::Closed) if self.stop.is_some() => Ok(None),
            next => next.map_err(|error| of_client(error, context.form.json)),
        }
    }
}

/// Prints the notifications that have arrived while the shell did something else.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_arrived(context: &Context) -> Result<()> {
    let Ok(mut notifications) = context.notifications() else {
        return Ok(());
    };
    let mut done = Ok(());
    while let Some(notification) = notifications.try_next() {
        done = print(context, &notification).map(drop);
        if done.is_err() {
            break;
        }
    }
    report_lost(&notifications);
    context.keep(notifications);
    done
}

/// A time as it is sent: RFC 3339 unchanged, a span as the time that is so far back.
fn time(text: &str) -> Result<String> {
    let time = past_time(text)?;
    Ok(match parse_time(text) {
        Some(_) => text.to_owned(),
        None => time_text(time),
    })
}

/// The content of an event as JSON; `None`, with a warning, if the modules do not have it.
fn as_event(context: &Context, event: &Element<'_>) -> Option<Value> {
    let reason = match as_json::event(context, event) {
        Ok(Some(content)) => return Some(content),
        Ok(None) => "no module has it".to_owned(),
        Err(failure) => failure.to_string(),
    };
    // A failed write to standard error cannot be reported.
    let _ = writeln!(
        stderr(),
        "warning: the notification {} is printed as XML: {}",
        escaped(&event.name),
        escaped(&reason)
    );
    None
}

/// A notification as RESTCONF has it (RFC 8040 §6.4), as `espalier notifications --json` prints it.
fn restconf_notification(time: &str, content: Value) -> Value {
    let mut members = serde_json::Map::new();
    members.insert("eventTime".to_owned(), time.into());
    if let Value::Object(content) = content {
        members.extend(content);
    }
    json!({"ietf-restconf:notification": members})
}

fn report_lost(notifications: &Notifications) {
    let lost = notifications.take_lost();
    if lost > 0 {
        eprintln!("{lost} notifications are missing: they came faster than they were printed");
    }
}

fn print(context: &Context, notification: &Notification) -> Result<Meaning> {
    let text = notification.text().trim_start();
    let element = Element::parse(text).map_err(|error| malformed(error.into()))?;
    let children = element.children();
    let children = children.map_err(|error| malformed(error.into()))?;
    let time = children.iter().find(|child| child.name == "eventTime");
    let time = time.and_then(|time| time.text().ok()).unwrap_or_default();
    let event = children.iter().find(|child| child.name != "eventTime");
    if context.form.output == Some(DataForm::Json)
        && let Some(event) = event
        && let Some(content) = as_event(context, event)
    {
        print_line(&restconf_notification(&time, content))?;
        return Ok(meaning(event));
    }
    match context.form.json || context.form.output == Some(DataForm::Json) {
        true => print_line(&json!({
            "event-time": time,
            "name": event.map(|event| event.name.as_str()),
            "namespace": event.map(|event| event.namespace.as_str()),
            "xml": event.map(Element::standalone),
        }))?,
        false => {
            let shown = indented(&element.standalone());
            print_xml(context, &shown.map_err(|error| malformed(error.into()))?)?;
        }
    }
    Ok(event.map_or(Meaning::State, meaning))
}

/// Notifications about the subscription itself: RFC 5277 §4, RFC 8639 §2.7.
fn meaning(event: &Element<'_>) -> Meaning {
    let is_of = |namespace: &str| event.namespace == namespace;
    let is_of_5277 = is_of("urn:ietf:params:xml:ns:netmod:notification")
        || is_of("urn:ietf:params:xml:ns:netconf:notification:1.0");
    let is_of_8639 = is_of("urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications");
    match event.name.as_str() {
        "notificationComplete" if is_of_5277 => Meaning::Complete,
        "replayComplete" if is_of_5277 => Meaning::State,
        "subscription-completed" if is_of_8639 => Meaning::Complete,
        "subscription-terminated" if is_of_8639 => Meaning::Terminated,
        _ if is_of_8639 => Meaning::State,
        _ => Meaning::Event,
    }
}
