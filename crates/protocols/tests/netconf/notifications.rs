//! Subscriptions of a session.

use espalier_protocols::netconf::SessionEnd;
use espalier_service::notifications::{Notification, time_text};
use espalier_store::{Clock as _, SystemClock};

use crate::support::{Client, Fixture};

const CREATE: &str =
    "create-subscription xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"";

pub fn create(content: &str) -> String {
    format!("<{CREATE}>{content}</create-subscription>")
}

/// The numbers of the next alarms.
pub fn alarms(client: &mut Client<'_>, count: usize) -> Vec<String> {
    let mut numbers = Vec::new();
    while numbers.len() < count {
        let message = client.receive().expect("a notification");
        assert!(message.starts_with("<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\"><eventTime>"), "{message}");
        if let Some((_, rest)) = message.split_once("<number>") {
            numbers.push(rest.split('<').next().unwrap_or_default().to_owned());
        }
    }
    numbers
}

impl Fixture {
    pub fn alarm(&self, number: u32) {
        let client = self.running();
        let document = format!("{{\"m:alarm\":{{\"number\":{number}}}}}");
        let schema = client.schema();
        let notification = Notification::parse_json(schema, "", document.as_bytes(), None);
        client
            .notify(notification.expect("a notification"))
            .expect("sent");
    }
}

/// The reply comes before the first notification; past events come before those that follow.
///
/// §5 rows 36, 37
#[test]
fn notifications_follow_the_reply_and_past_ones_come_first() {
    let fixture = Fixture::new();
    let start = time_text(SystemClock.now());
    for number in 0..500 {
        fixture.alarm(number);
    }
    let mut client = fixture.session();
    client.ok(&create(&format!("<startTime>{start}</startTime>")));
    for number in 500..1000 {
        fixture.alarm(number);
        if number % 100 == 0 {
            // Requests are answered between notifications.
            client.send_request("<get-config><source><running/></source></get-config>");
        }
    }
    let (mut numbers, mut replies, mut completions) = (Vec::new(), 0, 0);
    while numbers.len() < 1000 || replies < 5 || completions < 1 {
        let message = client.receive().expect("a message");
        if let Some((_, rest)) = message.split_once("<number>") {
            numbers.push(
                rest.split('<')
                    .next()
                    .unwrap_or_default()
                    .parse::<u32>()
                    .expect("a number"),
            );
        }
        replies += usize::from(message.contains("rpc-reply"));
        completions += usize::from(message.contains("replayComplete"));
    }
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    assert_eq!(completions, 1);
}

#[test]
fn filters_select_notifications() {
    let fixture = Fixture::new();
    for filter in [
        "<filter><alarm xmlns='urn:m'><number>7</number></alarm></filter>",
        "<filter type='subtree'><x:alarm xmlns:x='urn:m'><x:number>7</x:number></x:alarm></filter>",
        "<filter type='xpath' xmlns:p='urn:m' select='/p:alarm[p:number = 7]'/>",
        "<filter type='xpath' select='/m:alarm[number = 7]'/>",
    ] {
        let mut client = fixture.session();
        client.ok(&create(filter));
        fixture.alarm(6);
        fixture.alarm(7);
        assert_eq!(alarms(&mut client, 1), ["7"], "{filter}");
    }
}

/// §5 row 37
#[test]
fn wrong_subscriptions_are_rejected() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    for (content, tag) in [
        ("<stream>none</stream>", "invalid-value"),
        (
            "<stopTime>2020-01-01T00:00:00Z</stopTime>",
            "missing-element",
        ),
        ("<startTime>2999-01-01T00:00:00Z</startTime>", "bad-element"),
        ("<startTime>yesterday</startTime>", "invalid-value"),
        (
            "<startTime>2020-01-02T00:00:00Z</startTime><stopTime>2020-01-01T00:00:00Z</stopTime>",
            "bad-element",
        ),
        ("<filter type='other'/>", "bad-attribute"),
        ("<filter type='xpath'/>", "missing-attribute"),
        ("<filter type='xpath' select='/['/>", "invalid-value"),
    ] {
        assert_eq!(client.error(&create(content)), tag, "{content}");
    }
    client.ok(&create(""));
    assert_eq!(client.error(&create("")), "operation-failed");
    let establish = "<establish-subscription xmlns=\"urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications\"><stream>NETCONF</stream></establish-subscription>";
    assert_eq!(client.error(establish), "operation-not-supported");
}

/// After the stop time the session is an ordinary one.
#[test]
fn a_subscription_ends_at_its_stop_time() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    let times =
        "<startTime>2020-01-01T00:00:00Z</startTime><stopTime>2020-01-02T00:00:00Z</stopTime>";
    client.ok(&create(times));
    assert!(
        client
            .receive()
            .expect("a message")
            .contains("replayComplete")
    );
    assert!(
        client
            .receive()
            .expect("a message")
            .contains("notificationComplete")
    );
    while client.rpc(&create(times)).contains("rpc-error") {
        std::thread::yield_now();
    }
    assert!(
        client
            .receive()
            .expect("a message")
            .contains("replayComplete")
    );
    assert_eq!(client.drop_connection(), SessionEnd::Dropped);
}

#[test]
fn established_subscriptions_are_modified_and_deleted() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    let namespace = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";
    let reply = client.rpc(&format!(
        "<establish-subscription xmlns=\"{namespace}\"><stream>NETCONF</stream><stream-xpath-filter xmlns:m=\"urn:espalier:module:m\">/m:alarm[m:number > 5]</stream-xpath-filter></establish-subscription>"
    ));
    let found = reply.split_once("<id xmlns");
    let (_, rest) = found.unwrap_or_else(|| panic!("{reply}"));
    let id = rest.split(['>', '<']).nth(1).expect("an id").to_owned();
    for number in [1, 6] {
        fixture.alarm(number);
    }
    assert_eq!(alarms(&mut client, 1), ["6"]);
    client.send_request(&format!(
        "<modify-subscription xmlns=\"{namespace}\"><id>{id}</id><stream-xpath-filter xmlns:m=\"urn:espalier:module:m\">/m:alarm[m:number &lt; 5]</stream-xpath-filter></modify-subscription>"
    ));
    let messages: Vec<String> = (0..2).filter_map(|_| client.receive()).collect();
    assert!(
        messages.iter().any(|message| message.contains("<ok/>")),
        "{messages:?}"
    );
    assert!(
        messages
            .iter()
            .any(|message| message.contains("subscription-modified")),
        "{messages:?}"
    );
    for number in [7, 2] {
        fixture.alarm(number);
    }
    assert_eq!(alarms(&mut client, 1), ["2"]);
    client.ok(&format!(
        "<delete-subscription xmlns=\"{namespace}\"><id>{id}</id></delete-subscription>"
    ));
    assert_eq!(
        client.error(&format!(
            "<delete-subscription xmlns=\"{namespace}\"><id>{id}</id></delete-subscription>"
        )),
        "invalid-value"
    );
}
