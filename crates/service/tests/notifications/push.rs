//! Subscriptions to datastores (RFC 8641).

use std::time::Duration;

use espalier_service::access::Caller;
use espalier_service::notifications::{
    Delivery, PUSH_VERSIONS_MAX, Subscription, SubscriptionId, time_text,
};
use espalier_service::{AccessControl, SessionDatastore};
use serde_json::{Value as Json, json};

use crate::established::{change, establish, invoke, open, session_of, termination};
use crate::fixture::{Fixture, after_ms, expect_nothing, next_event, user};
use crate::push_fixture::{Replica, on_change, push_fixture, update};

fn fixture() -> (Fixture, SessionDatastore) {
    let fixture = push_fixture(AccessControl::Off);
    let of = session_of(&fixture, Caller::exempt());
    (fixture, of)
}

fn periodic(period: u32, datastore: &str) -> Json {
    json!({"ietf-yang-push:datastore": format!("ietf-datastores:{datastore}"),
        "ietf-yang-push:datastore-xpath-filter": "/m:top",
        "ietf-yang-push:periodic": {"period": period}})
}

/// The content of the next notification, which has this name.
fn next_update(subscription: &mut Subscription, name: &str) -> Json {
    let event = next_event(subscription);
    assert_eq!(event.name(), name);
    update(&event)
}

/// The operations and targets of the edits of the next notification.
fn next_edits(subscription: &mut Subscription) -> Vec<String> {
    let changes = next_update(subscription, "push-change-update");
    let edits = changes["datastore-changes"]["yang-patch"]["edit"].clone();
    let text = |edit: &Json, name: &str| edit[name].as_str().expect(name).to_owned();
    let edits = edits.as_array().expect("edits").iter();
    edits
        .map(|edit| format!("{} {}", text(edit, "operation"), text(edit, "target")))
        .collect()
}

fn top(fixture: &Fixture, value: &str) {
    fixture.put(&json!({"m:top": value}).to_string());
}

#[test]
fn an_on_change_subscription_sends_all_selected_data_and_then_each_change() {
    let (fixture, of) = fixture();
    top(&fixture, "a");
    let input = on_change(&json!({"datastore-xpath-filter": "/m:top | /m:port"}));
    let mut subscription = open(&of, establish(&of, &input));
    let contents = next_update(&mut subscription, "push-update");
    assert_eq!(contents["datastore-contents"], json!({"m:top": "a"}));
    fixture.put(r#"{"m:secret":{"life":1}}"#);
    top(&fixture, "b");
    fixture.put(r#"{"m:port":[{"name":"x/y","speed":1}]}"#);
    let changes = next_update(&mut subscription, "push-change-update");
    let expected = json!({"patch-id": "0", "edit": [{"edit-id": "1", "operation": "replace",
        "target": "/m:top", "value": {"m:top": "b"}}]});
    assert_eq!(changes["datastore-changes"]["yang-patch"], expected);
    assert_eq!(next_edits(&mut subscription), ["create /m:port=x%2Fy"]);
    expect_nothing(&mut subscription);
}

#[test]
fn changes_within_the_dampening_period_are_sent_together() {
    let (fixture, of) = fixture();
    let mut input = on_change(&json!({"datastore-xpath-filter": "/m:top | /m:port"}));
    input["ietf-yang-push:on-change"]["dampening-period"] = json!(200);
    let mut subscription = open(&of, establish(&of, &input));
    next_update(&mut subscription, "push-update");
    for number in 0..4 {
        top(&fixture, &number.to_string());
        let name = json!([{"name": "p"}]);
        fixture.put(&json!({ "m:port": name }).to_string());
        let path = espalier_yang::InstancePath::parse_cli_path(of.schema(), "/m:port[name='p']");
        let edits = [espalier_store::Edit::delete(path.expect("a path"))];
        fixture
            .tree
            .commit(&edits, Default::default())
            .expect("deleted");
    }
    expect_nothing(&mut subscription);
    fixture.clock.advance_ms(2000);
    // The port was created and deleted.
    assert_eq!(next_edits(&mut subscription), ["create /m:top"]);
    expect_nothing(&mut subscription);
    fixture.clock.advance_ms(2000);
    // The first change after a pause is sent at once.
    top(&fixture, "z");
    assert_eq!(next_edits(&mut subscription), ["replace /m:top"]);
}

#[test]
fn a_slow_receiver_is_suspended_and_resumed_with_all_selected_data() {
    let (fixture, of) = fixture();
    let mut replica = Replica::new(&of, &on_change(&json!({})));
    replica.drain();
    let before = replica.received.len();
    for number in 0..=PUSH_VERSIONS_MAX {
        fixture.put_directly(&json!({"m:top": number.to_string()}).to_string());
    }
    let last = json!({"m:top": PUSH_VERSIONS_MAX.to_string()});
    // By then the hub has marked them all, also on a busy machine.
    std::thread::sleep(Duration::from_secs(5));
    replica.receive_until("a push-update", &|replica| replica.document() == last);
    let names = &replica.received[before..];
    assert_eq!(
        names[..3],
        [
            "subscription-suspended",
            "subscription-resumed",
            "push-update"
        ]
    );
    top(&fixture, "z");
    replica.drain();
    assert_eq!(replica.document(), json!({"m:top": "z"}));
    assert_eq!(replica.received.last().unwrap(), "push-change-update");
}

#[test]
fn kinds_of_changes_are_excluded_and_the_first_update_can_be_omitted() {
    let (fixture, of) = fixture();
    top(&fixture, "a");
    let mut input = on_change(&json!({"datastore-xpath-filter": "/m:top | /m:port"}));
    input["ietf-yang-push:on-change"] =
        json!({"sync-on-start": false, "excluded-change": ["create"]});
    let id = establish(&of, &input);
    // It is not received yet.
    top(&fixture, "b");
    let mut subscription = open(&of, id);
    assert_eq!(next_edits(&mut subscription), ["replace /m:top"]);
    fixture.put(r#"{"m:port":[{"name":"p"}]}"#);
    expect_nothing(&mut subscription);
    fixture.put(r#"{"m:top":"c","m:port":[{"name":"q"}]}"#);
    assert_eq!(next_edits(&mut subscription), ["replace /m:top"]);
}

#[test]
fn periodic_updates_are_aligned_to_the_anchor_time_and_missed_ones_are_skipped() {
    let (fixture, of) = fixture();
    top(&fixture, "a");
    let mut input = periodic(500, "operational");
    input["ietf-yang-push:periodic"]["anchor-time"] = json!(time_text(after_ms(60_000)));
    fixture.clock.advance_ms(1_000);
    let mut subscription = open(&of, establish(&of, &input));
    expect_nothing(&mut subscription);
    fixture.clock.advance_ms(4_000);
    let contents = next_update(&mut subscription, "push-update");
    assert_eq!(contents["datastore-contents"]["m:top"], "a");
    expect_nothing(&mut subscription);
    top(&fixture, "b");
    fixture.clock.advance_ms(17_000);
    let contents = next_update(&mut subscription, "push-update");
    assert_eq!(contents["datastore-contents"]["m:top"], "b");
    expect_nothing(&mut subscription);
    fixture.clock.advance_ms(3_000);
    next_update(&mut subscription, "push-update");
}

#[test]
fn a_periodic_subscription_can_be_modified_and_ends_at_its_stop_time() {
    let (fixture, of) = fixture();
    let mut input = periodic(1000, "running");
    input["stop-time"] = json!(time_text(after_ms(100_000)));
    let id = establish(&of, &input);
    let mut subscription = open(&of, id);
    // Without an anchor, the first one is sent at once.
    next_update(&mut subscription, "push-update");
    let input = json!({"id": id.0, "ietf-yang-push:periodic": {"period": 200},
        "ietf-yang-push:datastore": "ietf-datastores:running"});
    invoke(&of, "modify-subscription", &input).expect("modified");
    let modified = change(&next_event(&mut subscription), "subscription-modified");
    assert_eq!(modified["ietf-yang-push:periodic"]["period"], 200);
    assert_eq!(
        modified["ietf-yang-push:datastore"],
        "ietf-datastores:running"
    );
    next_update(&mut subscription, "push-update");
    fixture.clock.advance_ms(2_000);
    next_update(&mut subscription, "push-update");
    // From periodic to on-change, with another filter.
    let input = json!({"id": id.0, "ietf-yang-push:on-change": {},
        "ietf-yang-push:datastore": "ietf-datastores:running",
        "ietf-yang-push:datastore-subtree-filter": {"m:secret": {}}});
    invoke(&of, "modify-subscription", &input).expect("modified");
    change(&next_event(&mut subscription), "subscription-modified");
    next_update(&mut subscription, "push-update");
    fixture.put(r#"{"m:secret":{"life":1}}"#);
    assert_eq!(next_edits(&mut subscription), ["create /m:secret/life"]);
    fixture.clock.set(after_ms(100_001));
    assert!(
        subscription
            .next(Duration::from_millis(10))
            .unwrap()
            .is_none()
    );
    assert!(subscription.is_ended());
}

#[test]
fn a_synchronization_can_be_requested_for_changes_only() {
    let (fixture, of) = fixture();
    let id = establish(
        &of,
        &on_change(&json!({"datastore-xpath-filter": "/m:top"})),
    );
    let mut subscription = open(&of, id);
    next_update(&mut subscription, "push-update");
    top(&fixture, "a");
    assert_eq!(next_edits(&mut subscription), ["create /m:top"]);
    invoke(&of, "resync-subscription", &json!({"id": id.0})).expect("requested");
    let contents = next_update(&mut subscription, "push-update");
    assert_eq!(contents["datastore-contents"], json!({"m:top": "a"}));
    top(&fixture, "b");
    let changes = next_update(&mut subscription, "push-change-update");
    assert_eq!(changes["datastore-changes"]["yang-patch"]["patch-id"], "0");
    let other = establish(&of, &periodic(100, "running"));
    for id in [other.0, 12] {
        let error = invoke(&of, "resync-subscription", &json!({ "id": id }));
        let error = format!("{:?}", error.expect_err("it has no changes"));
        assert!(error.contains("no-such-subscription-resync"), "{error}");
    }
    let input = json!({"id": id.0});
    invoke(&of, "kill-subscription", &input).expect("killed");
    assert_eq!(termination(&mut subscription), "no-such-subscription");
    let mut subscription = open(&of, other);
    invoke(&of, "delete-subscription", &json!({"id": other.0})).expect("deleted");
    assert!(subscription.next(Duration::from_secs(1)).unwrap().is_none());
    assert!(subscription.is_ended());
}

#[test]
fn what_is_not_supported_has_the_reasons_of_the_rfc() {
    let (_fixture, of) = fixture();
    let with = |name: &str, value: Json| {
        let mut input = on_change(&json!({}));
        input[format!("ietf-yang-push:{name}")] = value;
        input
    };
    let cases = [
        (periodic(99, "running"), "period-unsupported"),
        (periodic(99, "running"), "period-hint"),
        (
            with("datastore", json!("ietf-datastores:operational")),
            "on-change-unsupported",
        ),
        (
            with("datastore", json!("ietf-datastores:candidate")),
            "on-change-unsupported",
        ),
        (
            with("datastore", json!("ietf-datastores:dynamic")),
            "datastore-not-subscribable",
        ),
        (
            with("datastore-xpath-filter", json!("/m:none")),
            "unchanging-selection",
        ),
        (
            with("datastore-subtree-filter", json!({"none:x": null})),
            "filter-unsupported",
        ),
    ];
    for (input, reason) in cases {
        let error = invoke(&of, "establish-subscription", &input).expect_err("an error");
        let error = format!("{error:?}");
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn a_configured_filter_is_adopted_when_it_is_changed() {
    let (fixture, of) = fixture();
    let configure = |expression: &str| {
        let filter = json!([{"filter-id": "f", "datastore-xpath-filter": expression}]);
        let filters = json!({"ietf-yang-push:selection-filter": filter});
        fixture.put(&json!({ "ietf-subscribed-notifications:filters": filters }).to_string());
    };
    configure("/m:top");
    top(&fixture, "a");
    let input = on_change(&json!({"selection-filter-ref": "f"}));
    let mut subscription = open(&of, establish(&of, &input));
    let contents = next_update(&mut subscription, "push-update");
    assert_eq!(contents["datastore-contents"], json!({"m:top": "a"}));
    configure("/m:secret");
    let modified = change(&next_event(&mut subscription), "subscription-modified");
    assert_eq!(modified["ietf-yang-push:selection-filter-ref"], "f");
    let contents = next_update(&mut subscription, "push-update");
    assert_eq!(contents["datastore-contents"], json!({}));
    fixture.put(r#"{"m:secret":{"life":1}}"#);
    assert_eq!(next_edits(&mut subscription), ["create /m:secret/life"]);
}

#[test]
fn a_change_of_the_access_rules_changes_what_a_subscriber_has() {
    let fixture = push_fixture(AccessControl::Rules);
    let of = session_of(&fixture, user("ben"));
    fixture.put(r#"{"m:secret":{"life":1},"m:top":"a"}"#);
    let input = on_change(&json!({"datastore-xpath-filter": "/m:top | /m:secret"}));
    let mut subscription = open(&of, establish(&of, &input));
    next_update(&mut subscription, "push-update");
    fixture.put(
        r#"{"ietf-netconf-acm:nacm":{"groups":{"group":[{"name":"g","user-name":["ben"]}]},
            "rule-list":[{"name":"l","group":["g"],"rule":[{"name":"r","action":"deny",
            "access-operations":"read","path":"/m:secret"}]}]}}"#,
    );
    assert_eq!(next_edits(&mut subscription), ["delete /m:secret"]);
    fixture.put(r#"{"m:secret":{"life":2}}"#);
    expect_nothing(&mut subscription);
}

#[test]
fn a_subscription_of_a_killed_session_ends() {
    let (fixture, of) = fixture();
    let mut subscription = open(&of, establish(&of, &on_change(&json!({}))));
    next_update(&mut subscription, "push-update");
    let session = of.session().id();
    fixture.service.sessions().kill(session).expect("a session");
    assert_eq!(termination(&mut subscription), "no-such-subscription");
    let _: Option<Delivery> = subscription.next(Duration::ZERO).expect("no error");
    assert!(of.open_subscription(SubscriptionId(1)).is_err());
}
