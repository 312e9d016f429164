//! Subscriptions.

use std::time::{Duration, Instant};

use crate::notifications::{alarms, create};
use crate::support::Fixture;

const READ: &str = "<get-config><source><running/></source></get-config>";
const LONG_AGO: &str = "<startTime>2020-01-01T00:00:00Z</startTime>";

/// §5 row 9, row 39
#[test]
fn a_client_that_does_not_read_delays_neither_others_nor_the_sender() {
    let fixture = Fixture::new();
    for number in 0..2000 {
        fixture.alarm(number);
    }
    let mut replaying = fixture.session();
    replaying.ok(&create(LONG_AGO));
    let mut live = fixture.session();
    live.ok(&create(""));
    let started = Instant::now();
    for number in 0..2000 {
        fixture.alarm(number);
        if number % 100 == 0 {
            let mut other = fixture.session();
            assert_eq!(other.data(READ), "");
            other.ok("<close-session/>");
        }
    }
    assert!(started.elapsed() < Duration::from_secs(15));
    // A request of the client that reads again is answered.
    let id = replaying.send_request(READ);
    let is_reply = |message: &String| message.contains(&format!("message-id=\"{id}\""));
    let mut messages = std::iter::from_fn(|| replaying.receive());
    assert!(messages.any(|message| is_reply(&message)));
}

/// §5 row 19
#[test]
fn a_subscription_with_an_unknown_element_is_rejected() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    for content in [
        "<filter><none xmlns=\"urn:none\"/></filter>",
        "<filter><none xmlns=\"urn:m\"/></filter>",
        "<filter><alarm/></filter>",
        "<filter type=\"xpath\" select=\"/none:alarm\"/>",
        "<filter type=\"xpath\" xmlns:n=\"urn:none\" select=\"/n:alarm\"/>",
    ] {
        assert_eq!(client.error(&create(content)), "invalid-value", "{content}");
    }
    client.ok(&create(
        "<filter><alarm xmlns=\"urn:m\"/><netconf-config-change xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-notifications\"/></filter>",
    ));
}

/// §5 row 38
#[test]
fn a_client_subscribes_again_after_it_has_reconnected() {
    let fixture = Fixture::new();
    for number in 0..3 {
        let mut client = fixture.session();
        client.ok(&create(""));
        fixture.alarm(number);
        assert_eq!(alarms(&mut client, 1), [number.to_string()]);
        client.drop_connection();
    }
    // An empty filter selects nothing, as in reads; the ends of replays pass every filter.
    let mut client = fixture.session();
    client.ok(&create(&format!("<filter/>{LONG_AGO}")));
    let message = client.receive().expect("a message");
    assert!(message.contains("replayComplete"), "{message}");
    fixture.alarm(9);
    assert_eq!(client.data(READ), "");
}
