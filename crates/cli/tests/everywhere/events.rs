//! Received events, in comparable form.
//!
//! A time that is not that of an event with a time of its own is replaced by [`NOW`], and versions of commits are relative
//! to the start of the case. The messages at the end of a replay are checked, and left out.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use espalier_service::SessionDatastore;
use espalier_service::notifications::{
    Delivery, Encoding, EventFilter, EventSource, Subscription, SubscriptionId,
    SubscriptionOptions, parse_time, time_text,
};
use espalier_store::{Clock, SystemClock, Timestamp};
use espalier_testkit::everywhere::{Base, EventFilterText, Format, Moment, Outcome, Receive};
use serde_json::{Value as Json, json};

use crate::library::{TYPED, invoke};
use crate::reported::relative;

/// The operation that establishes a subscription (RFC 8639 §2.4.2).
pub const ESTABLISH: &str = "/ietf-subscribed-notifications:establish-subscription";

/// The time of an event that occurred during the case.
const NOW: &str = "during the case";

/// How long a front end may take for the next event.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A message to a receiver.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// An event, in comparable form.
    Event(Json),
    /// All past events were delivered.
    ReplayComplete,
    /// The stop time is over.
    Completed,
}

impl Message {
    /// The message with a document, which front ends send for the ends of replays too.
    pub fn parse(document: &str, format: Format, base: Base) -> Self {
        let named = |names: [&str; 2]| names.iter().any(|name| document.contains(name));
        if named(["\"nc-notifications:replayComplete\"", "<replayComplete "])
            || named([
                "\"ietf-subscribed-notifications:replay-completed\"",
                "<replay-completed ",
            ])
        {
            return Self::ReplayComplete;
        }
        if named([
            "\"nc-notifications:notificationComplete\"",
            "<notificationComplete ",
        ]) {
            return Self::Completed;
        }
        Self::Event(match format {
            Format::Json => json_event(document, base),
            Format::Xml => xml_event(document, base).into(),
        })
    }
}

fn json_event(document: &str, base: Base) -> Json {
    let mut json: Json = serde_json::from_str(document).expect("JSON");
    let event = &mut json["ietf-restconf:notification"];
    let time = event["eventTime"].as_str().expect("a time");
    event["eventTime"] = comparable_time(time, base).into();
    if let Some(commit) = event.get_mut("espalier-notifications:commit") {
        let version = commit["version"].as_str().expect("a version");
        commit["version"] = comparable_version(version, base).into();
    }
    json
}

fn xml_event(document: &str, base: Base) -> String {
    let timed = replace_leaf(document, "eventTime", &|time| comparable_time(time, base));
    match timed.contains("<commit ") {
        true => replace_leaf(&timed, "version", &|text| comparable_version(text, base)),
        false => timed,
    }
}

fn comparable_time(text: &str, base: Base) -> String {
    let time = parse_time(text).expect("a time");
    match time.0 >= base.time_ms {
        true => NOW.to_owned(),
        false => text.to_owned(),
    }
}

fn comparable_version(text: &str, base: Base) -> String {
    relative(text.parse().expect("a version"), base.version).to_string()
}

/// Replaces the value of the first element with a name.
fn replace_leaf(document: &str, name: &str, value: &dyn Fn(&str) -> String) -> String {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let (before, rest) = document.split_once(&begin).expect("an element");
    let (text, after) = rest.split_once(&end).expect("its end");
    format!("{before}{begin}{}{end}{after}", value(text))
}

/// The text of a moment, as RFC 3339 has it.
pub fn text_of(moment: Moment) -> String {
    match moment {
        Moment::Text(text) => text.to_owned(),
        Moment::At(time) => time_text(Timestamp(time)),
        Moment::Step(_) => unreachable!("the run has replaced it"),
    }
}

/// The input of `establish-subscription`, as JSON.
pub fn establish_input(receive: &Receive) -> String {
    let mut input = json!({"stream": receive.stream});
    let encoding = match receive.format {
        Format::Json => "encode-json",
        Format::Xml => "encode-xml",
    };
    input["encoding"] = encoding.into();
    for (name, moment) in [
        ("replay-start-time", receive.start),
        ("stop-time", receive.stop),
    ] {
        if let Some(moment) = moment {
            input[name] = text_of(moment).into();
        }
    }
    match receive.filter {
        Some(EventFilterText::Subtree(text)) => {
            let filter: Json = serde_json::from_str(text).expect("JSON");
            input["stream-subtree-filter"] = filter;
        }
        Some(EventFilterText::XPath(text)) => input["stream-xpath-filter"] = text.into(),
        None => {}
    }
    json!({"ietf-subscribed-notifications:input": input}).to_string()
}

/// Whether a request establishes a subscription: requests for streams have no subtree filters.
pub fn is_established(receive: &Receive) -> bool {
    matches!(receive.filter, Some(EventFilterText::Subtree(_)))
}

/// Whether the stop time of a request is over.
fn is_over(receive: &Receive) -> bool {
    let stop = receive.stop.and_then(|stop| parse_time(&text_of(stop)));
    stop.is_some_and(|stop| stop < SystemClock.now())
}

/// The messages at the end of a replay.
pub fn end_of_replay(receive: &Receive) -> Vec<Message> {
    // A dynamic subscription ends without a notification (RFC 8639 §2.4.5).
    match is_over(receive) && !is_established(receive) {
        true => vec![Message::ReplayComplete, Message::Completed],
        false => vec![Message::ReplayComplete],
    }
}

/// The outcome of a replay, from its messages up to the end. Reads no more of them than there must be.
pub fn outcome(receive: &Receive, mut next: impl FnMut() -> Option<Message>) -> Outcome {
    let mut events = Vec::new();
    let end = loop {
        match next() {
            Some(Message::Event(event)) => events.push(event),
            end => break end,
        }
    };
    let mut found = vec![end];
    let expected = end_of_replay(receive);
    found.extend(expected[1..].iter().map(|_| next()));
    let mut expected: Vec<_> = expected.into_iter().map(Some).collect();
    if is_over(receive) {
        found.push(next());
        expected.push(None);
    }
    assert_eq!(found, expected, "{receive:?} after {events:?}");
    Outcome::Success(events.into())
}

/// Receives events from the library.
pub fn receive(
    running: &SessionDatastore,
    receive: &Receive,
    base: Base,
) -> espalier_store::Result<Outcome> {
    let mut subscription = match is_established(receive) {
        true => {
            let output = invoke(
                running.clone(),
                ESTABLISH,
                (Format::Json, &establish_input(receive)),
            )?;
            let id = output["ietf-subscribed-notifications:output"]["id"].as_u64();
            let id = id.and_then(|id| u32::try_from(id).ok());
            running.open_subscription(SubscriptionId(id.expect("an id")))?
        }
        false => match options(running, receive)? {
            Some(options) => running.subscribe(options)?,
            None => return Ok(Outcome::Inexpressible(TYPED)),
        },
    };
    Ok(outcome(receive, || {
        next(&mut subscription, receive.format, base)
    }))
}

/// The options of a subscription; `None` if a time is none.
fn options(
    running: &SessionDatastore,
    receive: &Receive,
) -> espalier_store::Result<Option<SubscriptionOptions>> {
    let times = [receive.start, receive.stop];
    let parsed = times.map(|time| time.map(|time| parse_time(&text_of(time))));
    if parsed.contains(&Some(None)) {
        return Ok(None);
    }
    let filter = match receive.filter {
        Some(EventFilterText::XPath(text)) => Some(EventFilter::parse_xpath(text)?.into()),
        _ => None,
    };
    Ok(Some(SubscriptionOptions {
        stream: running.stream(receive.stream)?,
        filter,
        start: parsed[0].flatten(),
        stop: parsed[1].flatten(),
        from: None,
    }))
}

fn next(subscription: &mut Subscription, format: Format, base: Base) -> Option<Message> {
    let encoding = match format {
        Format::Json => Encoding::Json,
        Format::Xml => Encoding::Xml,
    };
    match subscription.next(WAIT_MAX).expect("events")? {
        Delivery::Event(event) => {
            let document = String::from_utf8_lossy(event.document(encoding));
            let message = Message::parse(&document, format, base);
            let is_event = event.source() != EventSource::Subscription;
            assert_eq!(is_event, matches!(message, Message::Event(_)), "{document}");
            Some(message)
        }
        Delivery::ReplayComplete => Some(Message::ReplayComplete),
        Delivery::Completed => Some(Message::Completed),
        Delivery::Lost(count) => panic!("{count} events are lost"),
        Delivery::Terminated(reason) => panic!("terminated: {reason}"),
    }
}

/// The messages of server-sent events.
pub fn sent_messages(
    body: impl Read,
    format: Format,
    base: Base,
) -> impl FnMut() -> Option<Message> {
    let mut lines = BufReader::new(body).lines();
    move || {
        let mut data = Vec::new();
        for line in &mut lines {
            let line = line.expect("a line");
            match line.split_once(": ") {
                Some(("data", text)) => data.push(text.to_owned()),
                Some(("event", kind)) => panic!("a message of the kind {kind}"),
                _ if line.is_empty() && !data.is_empty() => {
                    return Some(Message::parse(&data.join("\n"), format, base));
                }
                _ => {}
            }
        }
        None
    }
}
