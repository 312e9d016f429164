//! `subscribe`.

use clap::Args;
use espalier_protocols::netconf::Element;
use espalier_protocols::netconf_client::operations::{
    SubscribeOptions, create_subscription, establish_subscription, indented,
};
use espalier_protocols::netconf_client::{ClientError, Notification, Notifications};
use espalier_terminal::{Failure, Result};
use serde_json::json;

use super::context::Context;
use super::failure::of_client;
use super::filter::FilterOptions;
use super::output::{malformed, print_line, print_xml};

/// Subscribe to notifications and print them as they arrive, until --stop, --count or ctrl-c (RFC 5277)
#[derive(Args, Debug)]
#[command(after_help = "\
With --json each notification is an object in a line, with its time, its name and its XML.

Examples:
  espalier netconf maria@router.example subscribe
  espalier netconf maria@router.example subscribe --start 2026-11-01T00:00:00Z --stop 2026-11-02T00:00:00Z
  espalier netconf maria@router.example subscribe --rfc8639 --xpath '/ietf-interfaces:*' --json
  espalier netconf call-home+ssh://maria@0.0.0.0:4334 subscribe --configured --json")]
pub struct Subscribe {
    /// The event stream [default: NETCONF]
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,

    #[command(flatten)]
    filter: FilterOptions,

    /// Past notifications since this time too, RFC 3339
    #[arg(long, value_name = "TIME")]
    start: Option<String>,

    /// The end, RFC 3339; it may be in the past with --start
    #[arg(long, value_name = "TIME")]
    stop: Option<String>,

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
    /// Subscribes, and prints notifications.
    pub fn run(&self, context: &Context) -> Result<()> {
        let options = SubscribeOptions {
            stream: self.stream.clone(),
            filter: self.filter.filter(context)?,
            start: self.start.clone(),
            stop: self.stop.clone(),
        };
        let mut notifications = context.notifications()?;
        match (self.configured, self.rfc8639) {
            (true, _) => {}
            (false, true) => drop(context.request(establish_subscription(&options))?),
            (false, false) => drop(context.request(create_subscription(&options))?),
        }
        let mut count = 0;
        while let Some(notification) = self.next(context, &mut notifications)? {
            let meaning = print(context, &notification)?;
            report_lost(&notifications);
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
    match context.form.json {
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
