//! Dynamic subscriptions (RFC 8639 §2.4) in programs.

use std::sync::Arc;
use std::time::Duration;

use espalier_service::access::Caller;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::notifications::{
    Delivery, Event, MODIFICATIONS_WAITING_MAX, RECEIVER_EVENTS_MAX, Subscription, SubscriptionId,
    SubscriptionOptions, time_text,
};
use espalier_service::operations::input_of;
use espalier_service::session::{NewSession, SessionKind, Sessions, Transport};
use espalier_service::{AccessControl, LoginPolicy, Service, SessionDatastore};
use espalier_store::{Clock, Datastore, Result, Store};
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, ParseOptions, Root, TreeBuilder, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use rand::Rng;
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, MODEL, TestClock, content, next, next_event, number, user};

const SUBSCRIBED: &str = "ietf-subscribed-notifications";

/// An anchor whose models have the operations and the filters.
fn fixture(control: AccessControl) -> Fixture {
    let own = espalier_service::modules::module(SUBSCRIBED).expect("the module");
    let nacm = espalier_yang::standard::module("ietf-netconf-acm", None).expect("the module");
    fixture_of(control, &[MODEL, own.text, nacm.text])
}

/// An anchor with these modules.
pub fn fixture_of(control: AccessControl, modules: &[&str]) -> Fixture {
    let clock = TestClock::new();
    let shared = Arc::clone(&clock) as Arc<dyn Clock>;
    let driver = espalier_drivers::open("memory:").expect("a driver");
    let store = Store::open(driver, Arc::clone(&shared)).expect("a store");
    let modules = modules.iter().copied();
    let source = SchemaSource {
        modules: modules.filter_map(ModuleSource::from_text).collect(),
        ..SchemaSource::default()
    };
    store.create_dataspace("d").expect("a dataspace");
    store.create_schema_set("d", "s", &source).expect("modules");
    store.create_anchor("d", "a", "s").expect("an anchor");
    let tree = store.tree("d", "a", Datastore::Running).expect("a tree");
    let trees = ConfigurationTrees::new(store, Some(tree.clone()));
    let service = Service::new(
        trees,
        control,
        Sessions::new(shared),
        LoginPolicy::default(),
    );
    Fixture {
        service: service.expect("a service"),
        tree,
        clock,
    }
}

/// Running, for a session of its own.
pub fn session_of(fixture: &Fixture, caller: Caller) -> SessionDatastore {
    let session = fixture.service.sessions().open(NewSession {
        caller,
        transport: Transport::Library,
        peer: String::new(),
        kind: SessionKind::Connection,
        name: String::new(),
    });
    let session = session.expect("a session");
    fixture.service.datastore(&session, fixture.tree.clone())
}

pub fn invoke(running: &SessionDatastore, name: &str, input: &Json) -> Result<DataTree> {
    let schema = running.schema();
    let module = match name {
        "resync-subscription" => "ietf-yang-push",
        _ => SUBSCRIBED,
    };
    let path = format!("/{module}:{name}");
    let path = InstancePath::parse_operation_path(schema, &path).expect("an operation");
    let node = path
        .target()
        .and_then(|operation| input_of(schema, operation));
    let document = json!({ format!("{module}:input"): input }).to_string();
    let (mut builder, options) = (TreeBuilder::new(), ParseOptions::default());
    let root = Root::Resource(node.expect("an input"));
    json::parse(schema, root, document.as_bytes(), &mut builder, &options)?;
    running.invoke(&path, &builder.finish()?)
}

pub fn establish(running: &SessionDatastore, input: &Json) -> SubscriptionId {
    let output = invoke(running, "establish-subscription", input);
    let output = output.unwrap_or_else(|error| panic!("{error}"));
    let id = output.nodes[0].children()[0].value().expect("an id");
    SubscriptionId(id.to_string().parse().expect("a number"))
}

pub fn open(running: &SessionDatastore, id: SubscriptionId) -> Subscription {
    let opened = running.open_subscription(id);
    opened.unwrap_or_else(|error| panic!("{error}"))
}

/// The content of a notification about a subscription.
pub fn change(event: &Event, name: &str) -> Json {
    let change = content(event)[format!("{SUBSCRIBED}:{name}")].take();
    assert!(change.is_object(), "{}", content(event));
    change
}

/// The reason in the notification with which a subscription ends.
pub fn termination(subscription: &mut Subscription) -> String {
    let change = change(&next_event(subscription), "subscription-terminated");
    assert!(subscription.is_ended());
    let reason = change["reason"].as_str().expect("a reason");
    reason
        .trim_start_matches("ietf-subscribed-notifications:")
        .to_owned()
}

#[test]
fn a_slow_receiver_is_suspended_and_resumed_around_what_it_lost() {
    let fixture = fixture(AccessControl::Off);
    let running = session_of(&fixture, Caller::exempt());
    let id = establish(&running, &json!({"stream": "NETCONF"}));
    let mut slow = open(&running, id);
    fixture.alarm(0);
    assert_eq!(number(&next_event(&mut slow)), Some(0));
    let sent = RECEIVER_EVENTS_MAX as u64 + 10;
    let mut fast = fixture.subscribe(SubscriptionOptions::default());
    (1..=sent).for_each(|value| {
        fixture.alarm(value);
        while number(&next_event(&mut fast)) != Some(value) {}
    });
    let suspended = change(&next_event(&mut slow), "subscription-suspended");
    assert_eq!(
        suspended,
        json!({"id": id.0, "reason": "ietf-subscribed-notifications:unsupportable-volume"})
    );
    assert!(matches!(next(&mut slow), Delivery::Lost(10)));
    change(&next_event(&mut slow), "subscription-resumed");
    (11..=sent).for_each(|value| assert_eq!(number(&next_event(&mut slow)), Some(value)));
}

/// Whether a filter selects a number.
type Selects = fn(u64) -> bool;

/// The filters that the test chooses from, each with the numbers that it selects.
const FILTERS: [(&str, Selects); 4] = [
    ("/m:alarm", |_| true),
    ("/m:alarm[number mod 2 = 0]", |number| number % 2 == 0),
    ("/m:alarm[number mod 2 = 1]", |number| number % 2 == 1),
    ("/m:alarm[number mod 3 = 0]", |number| number % 3 == 0),
];

/// A filter selected, or excluded, events before its modification that were read later, and some after it.
#[test]
fn a_modification_applies_to_the_events_after_it_however_late_they_are_read() {
    let variable = "ESPALIER_MODIFICATIONS";
    let count = seed::number_from_environment(variable).unwrap_or(30);
    seed::run_each("modifications", count, variable, |random| {
        let fixture = fixture(AccessControl::Off);
        let running = session_of(&fixture, Caller::exempt());
        let (mut selects, mut sent) = (FILTERS[0].1, 0);
        let mut expected = Vec::new();
        let mut input = json!({"stream": "NETCONF", "stream-xpath-filter": FILTERS[0].0});
        if random.random() {
            fixture.clock.advance_ms(1000);
            input["replay-start-time"] = time_text(fixture.clock.now()).into();
            for _ in 0..random.random_range(0..300) {
                sent += 1;
                fixture.alarm(sent);
                expected.push(sent);
            }
        }
        let id = establish(&running, &input);
        let mut subscription = open(&running, id);
        let (mut received, mut modified, mut modifications) = (Vec::new(), 0, 0);
        for _ in 0..random.random_range(0..60) {
            match random.random_range(0..10) {
                0..6 => {
                    sent += 1;
                    fixture.alarm(sent);
                    expected.extend(selects(sent).then_some(sent));
                }
                6 if modifications < MODIFICATIONS_WAITING_MAX => {
                    let (text, next) = FILTERS[random.random_range(0..FILTERS.len())];
                    let input = json!({"id": id.0, "stream-xpath-filter": text});
                    invoke(&running, "modify-subscription", &input).expect("modified");
                    modifications += 1;
                    selects = next;
                }
                _ => {
                    let delivery = subscription.next(Duration::from_millis(1)).expect("a read");
                    receive(delivery, &mut received, &mut modified);
                }
            }
        }
        while received.len() < expected.len() || modified < modifications {
            receive(Some(next(&mut subscription)), &mut received, &mut modified);
        }
        // The end of the replay may still come.
        while let Some(delivery) = subscription
            .next(Duration::from_millis(100))
            .expect("a read")
        {
            receive(Some(delivery), &mut received, &mut modified);
        }
        assert_eq!((received, modified), (expected, modifications));
    });
}

/// Collects the number of an event, or counts a modification.
fn receive(delivery: Option<Delivery>, received: &mut Vec<u64>, modified: &mut usize) {
    let event = match delivery {
        Some(Delivery::Event(event)) => event,
        None => return,
        Some(_) => panic!("neither an event nor a modification"),
    };
    match number(&event) {
        Some(number) => received.push(number),
        None if content(&event)[format!("{SUBSCRIBED}:subscription-modified")].is_object() => {
            *modified += 1;
        }
        None => drop(change(&event, "replay-completed")),
    }
}

#[test]
fn modifications_that_wait_for_past_events_are_limited() {
    let fixture = fixture(AccessControl::Off);
    let running = session_of(&fixture, Caller::exempt());
    let id = establish(&running, &json!({"stream": "NETCONF"}));
    let modify = || {
        let input = json!({"id": id.0, "stream-xpath-filter": "/m:alarm"});
        invoke(&running, "modify-subscription", &input)
    };
    for _ in 0..MODIFICATIONS_WAITING_MAX {
        modify().expect("modified");
    }
    let error = modify().expect_err("too many");
    assert!(
        error.to_string().contains("MODIFICATIONS_WAITING_MAX"),
        "{error}"
    );
    // They wait no more when the events are received.
    let mut subscription = open(&running, id);
    for number in 0..3 {
        fixture.alarm(number);
        while self::number(&next_event(&mut subscription)) != Some(number) {}
    }
    for _ in 0..3 * MODIFICATIONS_WAITING_MAX {
        let modified = modify();
        change(&next_event(&mut subscription), "subscription-modified");
        modified.expect("modified");
    }
}

#[test]
fn a_named_filter_is_that_of_the_configuration() {
    let fixture = fixture(AccessControl::Off);
    let running = session_of(&fixture, Caller::exempt());
    let unknown = json!({"stream": "NETCONF", "stream-filter-name": "loud"});
    assert!(invoke(&running, "establish-subscription", &unknown).is_err());
    let filters = |expression: &str| {
        let filter = json!({"name": "loud", "stream-xpath-filter": expression});
        fixture.put(
            &json!({"ietf-subscribed-notifications:filters": {"stream-filter": [filter]}})
                .to_string(),
        );
    };
    filters("/m:alarm[number > 5]");
    let mut subscription = open(&running, establish(&running, &unknown));
    for value in 5..=6 {
        fixture.alarm(value);
    }
    assert_eq!(number(&next_event(&mut subscription)), Some(6));
    filters("/m:alarm[number < 5]");
    let modified = change(&next_event(&mut subscription), "subscription-modified");
    assert_eq!(modified["stream-filter-name"], "loud");
    for value in [7, 4] {
        fixture.alarm(value);
    }
    assert_eq!(number(&next_event(&mut subscription)), Some(4));
}

#[test]
fn only_the_session_that_established_one_may_change_it_and_it_ends_with_the_session() {
    let fixture = fixture(AccessControl::Off);
    let (running, other) = (
        session_of(&fixture, Caller::exempt()),
        session_of(&fixture, Caller::exempt()),
    );
    let id = establish(&running, &json!({"stream": "NETCONF"}));
    for name in ["delete-subscription", "modify-subscription"] {
        let mut input = json!({"id": id.0});
        if name == "modify-subscription" {
            input["stream-xpath-filter"] = json!("/m:alarm");
        }
        let error = invoke(&other, name, &input).expect_err("it is of another session");
        assert!(error.to_string().contains("no subscription"), "{error}");
    }
    assert!(other.open_subscription(id).is_err());
    let mut subscription = open(&running, id);
    let session = running.session().id();
    fixture.service.sessions().kill(session).expect("a session");
    assert_eq!(termination(&mut subscription), "no-such-subscription");
    let id = establish(&other, &json!({"stream": "NETCONF"}));
    let session = other.session().id();
    fixture
        .service
        .sessions()
        .close(session)
        .expect("a session");
    assert!(other.open_subscription(id).is_err());
}

#[test]
fn a_subscription_that_nobody_receives_from_is_forgotten() {
    let fixture = fixture(AccessControl::Off);
    let running = session_of(&fixture, Caller::exempt());
    let id = establish(&running, &json!({"stream": "NETCONF"}));
    fixture.clock.advance_ms(60_000);
    assert!(running.open_subscription(id).is_err());
}

#[test]
fn a_user_who_may_not_read_the_stream_any_more_gets_no_more_events() {
    let fixture = fixture(AccessControl::Rules);
    let running = session_of(&fixture, user("bob"));
    let input = json!({"stream": "NETCONF"});
    let mut subscription = open(&running, establish(&running, &input));
    fixture.put(
        r#"{"ietf-netconf-acm:nacm":{"groups":{"group":[{"name":"g","user-name":["bob"]}]},
            "rule-list":[{"name":"l","group":["g"],"rule":[{"name":"r","action":"deny",
            "access-operations":"read","path":"/ietf-subscribed-notifications:streams"}]}]}}"#,
    );
    while !subscription.is_ended() {
        if let Delivery::Event(event) = next(&mut subscription)
            && content(&event)["ietf-subscribed-notifications:subscription-terminated"].is_object()
        {
            let change = change(&event, "subscription-terminated");
            let reason = change["reason"].as_str().expect("a reason");
            assert!(reason.ends_with("stream-unavailable"), "{reason}");
        }
    }
    let error = invoke(&running, "establish-subscription", &input).expect_err("it is hidden");
    assert!(error.to_string().contains("no event stream"), "{error}");
}

/// A subtree filter in JSON could not name the modules of the notifications of the server.
#[test]
fn regression_a_subtree_filter_in_json_names_modules_of_the_server() {
    let fixture = fixture(AccessControl::Off);
    let running = session_of(&fixture, Caller::exempt());
    let filter = json!({"espalier-notifications:commit": {"path": "/m:port[name='a']"}});
    let terms = json!({"stream": "NETCONF", "stream-subtree-filter": filter});
    let mut subscription = open(&running, establish(&running, &terms));
    fixture.put(r#"{"m:port":[{"name":"b"}]}"#);
    fixture.put(r#"{"m:port":[{"name":"a"},{"name":"b"}]}"#);
    let event = content(&next_event(&mut subscription));
    let commit = &event["espalier-notifications:commit"];
    assert_eq!(commit["path"], json!(["/m:port[name='a']"]));
}
