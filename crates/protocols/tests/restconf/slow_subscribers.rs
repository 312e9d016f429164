//! Slow receivers of subscriptions over HTTP: they are suspended and resumed (RFC 8639 §2.4.1, §2.7), or disconnected.

use std::thread;
use std::time::Duration;

use espalier_protocols::restconf::RestconfConfig;
use espalier_service::SessionDatastore;
use serde_json::{Value, json};

use crate::event_client::{Client, Event};
use crate::event_streams::{number, send, served_with};
use crate::subscriptions::{STATE, establish, listed, state_change};
use crate::support::Server;

/// The bytes of an event. Buffers of sockets take some MiB before the queue of the receiver fills.
const EVENT_BYTES: usize = 128 << 10;

/// More than the buffers of a connection and the queue can take.
const EVENTS_MAX: u64 = 2000;

/// Sends large events, numbered from 1, until a condition holds. Returns the number of the last one.
fn send_until(running: &SessionDatastore, condition: impl Fn() -> bool) -> u64 {
    let text = "x".repeat(EVENT_BYTES);
    for number in 1..=EVENTS_MAX {
        send(
            running,
            "",
            &json!({"m:alarm": {"number": number, "text": text}}),
        );
        if condition() {
            return number;
        }
    }
    panic!("{EVENTS_MAX} events fit the buffers");
}

fn state(server: &Server, id: u64) -> Value {
    listed(server, id)["receivers"]["receiver"][0]["state"].clone()
}

/// The number of an alarm; `None` for other events.
fn alarm_number(event: &Event) -> Option<u64> {
    event.data["ietf-restconf:notification"]["m:alarm"]["number"].as_u64()
}

/// Receives the alarms from a number on. Returns the number after the last one, and the event that follows.
fn receive_alarms(client: &mut Client, first: u64) -> (u64, Event) {
    let mut next = first;
    loop {
        let event = client.next().expect("an event");
        match alarm_number(&event) {
            Some(number) => assert_eq!(number, next),
            None => return (next, event),
        }
        next += 1;
    }
}

#[test]
fn a_slow_client_is_suspended_and_resumed_around_the_number_of_lost_events() {
    let (server, running) = served_with(RestconfConfig::default());
    let (id, path) = establish(&server, &json!({"stream": "NETCONF"}));
    let mut client = Client::open(server.address, &path, "");
    assert_eq!(state(&server, id), "active");
    let sent = send_until(&running, || state(&server, id) == "suspended");
    let (after, suspended) = receive_alarms(&mut client, 1);
    let suspended = &suspended.data["ietf-restconf:notification"]["ietf-subscribed-notifications:subscription-suspended"];
    let reason = "ietf-subscribed-notifications:unsupportable-volume";
    assert_eq!(*suspended, json!({"id": id, "reason": reason}));
    let lost = client.expect("lost").data["events"]
        .as_u64()
        .expect("a number");
    assert!(lost > 0);
    let resumed = state_change(&mut client, "subscription-resumed");
    assert_eq!(resumed, json!({"id": id}));
    // Exactly the events with these numbers are missing.
    for expected in after + lost..=sent {
        assert_eq!(number(&mut client), expected);
    }
    assert_eq!(state(&server, id), "active");
    send(&running, "", &json!({"m:alarm": {"number": 0}}));
    assert_eq!(number(&mut client), 0);
    // The lost events can be requested again.
    let again = json!({"stream": "NETCONF", "replay-start-time": "2020-01-01T00:00:00Z"});
    let (_, path) = establish(&server, &again);
    let mut again = Client::open(server.address, &path, "");
    (1..=sent).for_each(|expected| assert_eq!(number(&mut again), expected));
}

#[test]
fn the_subscription_of_a_client_that_reads_nothing_ends() {
    let mut config = RestconfConfig::default();
    config.limits.response_pause_max = Duration::from_millis(200);
    let (server, running) = served_with(config);
    let (id, path) = establish(&server, &json!({"stream": "NETCONF"}));
    let client = Client::open(server.address, &path, "");
    let entry = format!("{STATE}/subscription={id}");
    send_until(&running, || {
        server.get(&entry).status == 404 || state(&server, id) == "suspended"
    });
    for _ in 0..500 {
        if server.get(&entry).status == 404 {
            drop(client);
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the subscription outlives the pause");
}
