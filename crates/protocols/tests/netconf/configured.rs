//! Configured subscriptions (RFC 8639 §2.5) in sessions of clients that the server called.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_protocols::netconf::NetconfLimits;
use espalier_service::{AccessControl, ChangeNote};
use espalier_store::{Edit, Error};
use espalier_testkit::documents::json_document;
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use espalier_yang::data::DataTree;
use rand::Rng as _;
use serde_json::{Value, json};

use crate::notifications::alarms;
use crate::support::{Client, Fixture, MODEL};

const SUBSCRIBED: &str = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";

/// How long a state is waited for.
const SOON: Duration = Duration::from_secs(20);

impl Fixture {
    /// Replaces a part of the configuration of the server.
    fn configure(&self, document: &Value) {
        self.try_configure(document).expect("a configuration");
    }

    /// As [`Self::configure`], by a session, so that it has effect at once.
    fn try_configure(&self, document: &Value) -> Result<(), Error> {
        self.service.prepare_subscriptions()?;
        let anchor = self.service.open_anchor("espalier", "server")?;
        let session = Arc::clone(self.running().session());
        let server = self.service.running(&session, &anchor);
        let data = json_document(server.schema(), &document.to_string());
        let edits: Vec<Edit> = data
            .nodes
            .into_iter()
            .map(|node| {
                let nodes = vec![node];
                Edit::replace(InstancePath::root(), DataTree { nodes })
            })
            .collect();
        let note = ChangeNote::default();
        server.commit(&edits, note, None).map(drop)
    }

    /// Configures subscriptions.
    fn subscribe(&self, subscriptions: &Value) {
        self.configure(
            &json!({"ietf-subscribed-notifications:subscriptions": {"subscription": subscriptions}}),
        );
    }
}

/// A subscription of the client `nms`, with further members.
fn subscription(id: u32, members: &Value) -> Value {
    let mut subscription = json!({
        "id": id,
        "transport": "espalier-notification-receivers:netconf-call-home",
        "receivers": {"receiver": [
            {"name": "manager", "espalier-notification-receivers:call-home-client": "nms"},
        ]},
    });
    let (Some(all), Some(members)) = (subscription.as_object_mut(), members.as_object()) else {
        panic!("objects");
    };
    all.extend(members.clone());
    subscription
}

/// The next notification, without its envelope and its time.
fn next(client: &mut Client<'_>) -> String {
    let message = client.receive().expect("a message");
    let found = message.split_once("</eventTime>");
    let (_, rest) = found.unwrap_or_else(|| panic!("{message}"));
    rest.trim_end_matches("</notification>").to_owned()
}

/// Expects a notification about a subscription; returns its content after the number.
fn expect(client: &mut Client<'_>, name: &str, id: u32) -> String {
    let found = next(client);
    let start = format!("<{name} xmlns=\"{SUBSCRIBED}\"><id>{id}</id>");
    let rest = found.strip_prefix(&start);
    let rest = rest.unwrap_or_else(|| panic!("{name}: {found}"));
    rest.trim_end_matches(&format!("</{name}>")).to_owned()
}

/// The list of subscriptions in the state of the server.
fn listed(client: &mut Client<'_>) -> String {
    client.data(&format!(
        "<get-data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-nmda\" \
         xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\"><datastore>ds:operational</datastore>\
         <subtree-filter><subscriptions xmlns=\"{SUBSCRIBED}\"/></subtree-filter></get-data>"
    ))
}

/// Waits until the list has all of these.
fn soon(fixture: &Fixture, expected: &[&str]) -> String {
    soon_is(fixture, |state| {
        expected.iter().all(|part| state.contains(part))
    })
}

/// Waits until the list is as expected.
fn soon_is(fixture: &Fixture, is_expected: impl Fn(&str) -> bool) -> String {
    let (mut client, start) = (fixture.session(), Instant::now());
    loop {
        let found = listed(&mut client);
        if is_expected(&found) {
            return found;
        }
        assert!(start.elapsed() < SOON, "{found}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A filter with a module that the anchor does not have.
fn wrong(id: u32) -> Value {
    let filter = json!({"none:x": [null]});
    subscription(
        id,
        &json!({"stream": "NETCONF", "stream-subtree-filter": filter}),
    )
}

fn alarms_of(id: u32, filter: &str) -> Value {
    subscription(
        id,
        &json!({"stream": "NETCONF", "stream-xpath-filter": filter}),
    )
}

#[test]
fn a_subscription_from_its_start_to_its_deletion() {
    let fixture = Fixture::new();
    fixture.subscribe(&json!([alarms_of(5, "/m:alarm")]));
    soon(&fixture, &["<state>connecting</state>"]);
    let mut other = fixture.call_home("other");
    let mut client = fixture.call_home("nms");
    let started = expect(&mut client, "subscription-started", 5);
    for part in [
        "<stream>NETCONF</stream>",
        ">/m:alarm</stream-xpath-filter>",
        "netconf-call-home</transport>",
    ] {
        assert!(started.contains(part), "{started}");
    }
    assert!(
        !started.contains("replay") && !started.contains("encoding"),
        "{started}"
    );
    fixture.alarm(1);
    assert_eq!(alarms(&mut client, 1), ["1"]);
    fixture.subscribe(&json!([alarms_of(5, "/m:alarm[number > 5]")]));
    let modified = expect(&mut client, "subscription-modified", 5);
    assert!(modified.contains("number &gt; 5]"), "{modified}");
    fixture.alarm(2);
    fixture.alarm(7);
    assert_eq!(alarms(&mut client, 1), ["7"]);
    let state = soon(&fixture, &["<state>active</state>"]);
    for part in [
        "<configured-subscription-state>valid<",
        "<sent-event-records>2<",
        ">nms</call-home-client>",
    ] {
        assert!(state.contains(part), "{state}");
    }
    fixture.subscribe(&json!([]));
    let terminated = expect(&mut client, "subscription-terminated", 5);
    assert!(
        terminated.contains("no-such-subscription</reason>"),
        "{terminated}"
    );
    assert!(!listed(&mut client).contains("<subscription>"));
    // A session that is no receiver has only its replies.
    assert!(!listed(&mut other).contains("<subscription>"));
}

#[test]
fn what_a_receiver_missed_is_sent_after_it_comes_back_with_a_replay_only() {
    let fixture = Fixture::new();
    let filter = json!({"stream": "NETCONF", "stream-xpath-filter": "/m:alarm"});
    let mut replayed = filter.clone();
    replayed["configured-replay"] = json!([null]);
    fixture.alarm(1);
    fixture.subscribe(&json!([
        subscription(6, &filter),
        subscription(7, &replayed)
    ]));
    let mut client = fixture.call_home("nms");
    let (mut started, mut events, mut completed) = (BTreeMap::new(), Vec::new(), false);
    while started.len() < 2 || events.is_empty() || !completed {
        let found = next(&mut client);
        match found
            .split_once("<id>")
            .and_then(|(_, rest)| rest.split_once('<'))
        {
            Some((id, rest)) if found.contains("subscription-started") => {
                started.insert(id.to_owned(), rest.contains("replay-start-time"));
            }
            Some(_) => completed |= found.contains("replay-completed"),
            None => events.push(found),
        }
    }
    assert!(!started["6"]);
    assert!(started["7"]);
    fixture.alarm(2);
    assert_eq!(alarms(&mut client, 2), ["2", "2"]);
    client.drop_connection();
    let state = soon_is(&fixture, |state| !state.contains("<state>active<"));
    for part in ["<sent-event-records>2<", "<sent-event-records>1<"] {
        assert!(state.contains(part), "{state}");
    }
    fixture.alarm(3);
    let mut client = fixture.call_home("nms");
    assert_eq!(alarms(&mut client, 1), ["3"]);
    soon(
        &fixture,
        &["<sent-event-records>3<", "<sent-event-records>1<"],
    );
    fixture.alarm(4);
    assert_eq!(alarms(&mut client, 2), ["4", "4"]);
}

#[test]
fn wrong_filters_and_streams_make_a_subscription_invalid() {
    let fixture = Fixture::new();
    let missing = json!({"stream": "NETCONF", "stream-filter-name": "none"});
    let missing = json!({"ietf-subscribed-notifications:subscriptions":
        {"subscription": [subscription(1, &missing)]}});
    let error = fixture.try_configure(&missing).expect_err("a reference");
    assert!(error.to_string().contains("none"), "{error}");
    fixture.subscribe(&json!([wrong(1)]));
    soon(
        &fixture,
        &[
            "<configured-subscription-state>invalid<",
            "<state>disconnected<",
        ],
    );
    let mut client = fixture.call_home("nms");
    fixture.subscribe(&json!([alarms_of(1, "/m:alarm")]));
    expect(&mut client, "subscription-started", 1);
    fixture.subscribe(&json!([wrong(1)]));
    let terminated = expect(&mut client, "subscription-terminated", 1);
    assert!(
        terminated.contains("filter-unavailable</reason>"),
        "{terminated}"
    );
    for (members, id) in [
        (json!({"stream": "none"}), 1),
        (json!({"stream": "NETCONF"}), 1 << 31),
        (
            json!({"ietf-yang-push:datastore": "ietf-datastores:operational", "ietf-yang-push:on-change": {}}),
            1,
        ),
        (
            json!({"ietf-yang-push:datastore": "ietf-datastores:running"}),
            1,
        ),
        (
            json!({"ietf-yang-push:datastore": "ietf-datastores:running", "ietf-yang-push:periodic": {"period": 1}}),
            1,
        ),
    ] {
        fixture.subscribe(&json!([subscription(id, &members)]));
        let state = listed(&mut fixture.session());
        assert!(
            state.contains("<configured-subscription-state>invalid<"),
            "{members}: {state}"
        );
    }
    fixture.subscribe(&json!([subscription(1, &json!({"stream": "NETCONF"}))]));
    expect(&mut client, "subscription-started", 1);
}

#[test]
fn a_named_filter_is_one_of_the_same_configuration() {
    let fixture = Fixture::new();
    let configure = |filter: &str| {
        let members = json!({"stream": "NETCONF", "stream-filter-name": "f"});
        fixture.configure(&json!({
            "ietf-subscribed-notifications:filters":
                {"stream-filter": [{"name": "f", "stream-xpath-filter": filter}]},
            "ietf-subscribed-notifications:subscriptions":
                {"subscription": [subscription(3, &members)]},
        }));
    };
    configure("/m:alarm[number = 1]");
    let mut client = fixture.call_home("nms");
    let started = expect(&mut client, "subscription-started", 3);
    assert!(started.contains("<stream-filter-name>f<"), "{started}");
    configure("/m:alarm[number = 2]");
    expect(&mut client, "subscription-modified", 3);
    fixture.alarm(1);
    fixture.alarm(2);
    assert_eq!(alarms(&mut client, 1), ["2"]);
}

#[test]
fn a_stop_time_concludes_a_subscription_until_it_is_later() {
    let fixture = Fixture::new();
    let stop_in = |seconds: u64| {
        let now = espalier_store::Clock::now(&espalier_store::SystemClock);
        let stop = espalier_store::Timestamp(now.0 + seconds * 1000);
        let stop = espalier_service::notifications::time_text(stop);
        subscription(4, &json!({"stream": "NETCONF", "stop-time": stop}))
    };
    fixture.subscribe(&json!([stop_in(2)]));
    let mut client = fixture.call_home("nms");
    let started = expect(&mut client, "subscription-started", 4);
    assert!(started.contains("<stop-time>"), "{started}");
    expect(&mut client, "subscription-completed", 4);
    soon(
        &fixture,
        &[
            "<configured-subscription-state>concluded<",
            "<state>disconnected<",
        ],
    );
    fixture.subscribe(&json!([stop_in(60)]));
    expect(&mut client, "subscription-started", 4);
    soon(&fixture, &["<configured-subscription-state>valid<"]);
}

#[test]
fn reset_begins_again() {
    let fixture = Fixture::new();
    fixture.subscribe(&json!([alarms_of(5, "/m:alarm")]));
    let mut client = fixture.call_home("nms");
    expect(&mut client, "subscription-started", 5);
    let reset = |receiver: &str| {
        format!(
            "<action xmlns=\"urn:ietf:params:xml:ns:yang:1\"><subscriptions xmlns=\"{SUBSCRIBED}\">\
             <subscription><id>5</id><receivers><receiver><name>{receiver}</name><reset/></receiver>\
             </receivers></subscription></subscriptions></action>"
        )
    };
    let mut operator = fixture.session();
    let reply = operator.rpc(&reset("manager"));
    assert!(reply.contains("<time "), "{reply}");
    expect(&mut client, "subscription-started", 5);
    assert_eq!(operator.error(&reset("nobody")), "data-missing");
    fixture.alarm(1);
    assert_eq!(alarms(&mut client, 1), ["1"]);
    let other = format!("<kill-subscription xmlns=\"{SUBSCRIBED}\"><id>5</id></kill-subscription>");
    assert_eq!(operator.error(&other), "invalid-value");
}

#[test]
fn datastores_are_pushed_to_several_receivers() {
    let fixture = Fixture::new();
    let mut both = subscription(
        8,
        &json!({
            "ietf-yang-push:datastore": "ietf-datastores:running",
            "ietf-yang-push:datastore-xpath-filter": "/m:c/e",
            "ietf-yang-push:on-change": {},
        }),
    );
    both["receivers"]["receiver"] = json!([
        {"name": "a", "espalier-notification-receivers:call-home-client": "nms"},
        {"name": "b", "espalier-notification-receivers:call-home-client": "backup"},
    ]);
    let periodic = subscription(
        9,
        &json!({
            "ietf-yang-push:datastore": "ietf-datastores:operational",
            "ietf-yang-push:datastore-xpath-filter": "/m:c/title",
            "ietf-yang-push:periodic": {"period": 100},
        }),
    );
    fixture.subscribe(&json!([both]));
    let mut receivers = [fixture.call_home("nms"), fixture.call_home("backup")];
    for receiver in &mut receivers {
        let started = expect(receiver, "subscription-started", 8);
        assert!(started.contains("running</datastore>"), "{started}");
        assert!(next(receiver).starts_with("<push-update"));
    }
    let edit = "<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><title>one</title><e><k>a</k></e></c></config>\
         </edit-config>";
    fixture.session().ok(edit);
    for receiver in &mut receivers {
        let change = next(receiver);
        assert!(
            change.starts_with("<push-change-update") && change.contains("<k>a</k>"),
            "{change}"
        );
    }
    fixture.subscribe(&json!([both, periodic]));
    expect(&mut receivers[0], "subscription-started", 9);
    for _ in 0..2 {
        let update = next(&mut receivers[0]);
        assert!(
            update.contains("<id>9</id>") && update.contains("<title>one<"),
            "{update}"
        );
    }
}

#[test]
fn the_rules_of_the_user_of_the_receiver_apply() {
    let fixture = Fixture::of(&[MODEL], AccessControl::Rules, NetconfLimits::default());
    let rule = |name: &str, members: Value| {
        let mut rule = json!({"name": name, "access-operations": "read", "action": "deny"});
        if let (Some(rule), Some(members)) = (rule.as_object_mut(), members.as_object()) {
            rule.extend(members.clone());
        }
        json!({"ietf-netconf-acm:nacm": {
            "groups": {"group": [{"name": "g", "user-name": ["ann"]}]},
            "rule-list": [{"name": "l", "group": ["g"], "rule": [rule]}],
        }})
    };
    fixture.configure(&rule(
        "r",
        json!({"module-name": "m", "notification-name": "alarm"}),
    ));
    fixture.subscribe(&json!([subscription(5, &json!({"stream": "NETCONF"}))]));
    let mut client = fixture.call_home_of("ann", "nms");
    expect(&mut client, "subscription-started", 5);
    fixture.alarm(1);
    let edit = "<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><title>new</title></c></config>\
         </edit-config>";
    fixture.session().ok(edit);
    loop {
        let found = next(&mut client);
        assert!(!found.contains("<alarm"), "{found}");
        if found.contains("espalier:notifications") {
            break;
        }
    }
    drop(client);
    let module = "ietf-subscribed-notifications";
    fixture.configure(&rule("r", json!({"module-name": module})));
    let _client = fixture.call_home_of("ann", "nms");
    soon(&fixture, &["<state>disconnected<"]);
}

/// Connections that come and go, and changes of the configuration: a receiver with a replay gets every event once, in order.
#[test]
fn no_event_is_lost_or_repeated_between_sessions() {
    seed::run("configured_subscriptions", |random| {
        let fixture = Fixture::new();
        let replayed = json!({"stream": "NETCONF", "stream-xpath-filter": "/m:alarm", "configured-replay": [null]});
        let mut purpose = 0;
        fixture.subscribe(&json!([subscription(1, &replayed)]));
        let (mut client, mut sent, mut received) = (None, 0, 0);
        for _ in 0..60 {
            match random.random_range(0..4) {
                0 => client = client.or_else(|| Some(fixture.call_home("nms"))),
                1 => {
                    if let Some(mut connected) = client.take() {
                        let missing = alarms(&mut connected, sent - received);
                        assert!(
                            missing
                                .iter()
                                .map(|one| one.parse())
                                .eq((received..sent).map(Ok))
                        );
                        received = sent;
                        connected.drop_connection();
                    }
                }
                2 => {
                    purpose += 1;
                    let mut members = replayed.clone();
                    members["purpose"] = json!(format!("the {purpose}th"));
                    fixture.subscribe(&json!([subscription(1, &members)]));
                }
                _ => {
                    fixture.alarm(u32::try_from(sent).expect("few"));
                    sent += 1;
                }
            }
        }
        let mut client = client.unwrap_or_else(|| fixture.call_home("nms"));
        let missing = alarms(&mut client, sent - received);
        assert!(
            missing
                .iter()
                .map(|one| one.parse())
                .eq((received..sent).map(Ok))
        );
    });
}
