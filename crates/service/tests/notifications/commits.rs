//! The events of commits are made from the history.

use espalier_service::notifications::{Delivery, Stream, SubscriptionOptions};
use serde_json::{Value, json};

use crate::fixture::{
    Fixture, NOON, after_ms, content, eventually, expect_nothing, next, next_event,
};

fn commits(start: Option<espalier_store::Timestamp>) -> SubscriptionOptions {
    SubscriptionOptions {
        stream: Stream::Commits,
        start,
        ..SubscriptionOptions::default()
    }
}

#[test]
fn commits_without_receivers_are_replayed_and_later_ones_follow() {
    let fixture = Fixture::new();
    for minute in 0..250 {
        fixture.clock.set(after_ms(minute * 60_000));
        fixture.put_directly(&format!(r#"{{"m:port":[{{"name":"p{minute}"}}]}}"#));
    }
    let start = after_ms(100 * 60_000);
    let mut subscription = fixture.subscribe(commits(Some(start)));
    for version in 101..=250 {
        let event = next_event(&mut subscription);
        let commit = content(&event)["espalier-notifications:commit"].clone();
        assert_eq!(commit["version"], Value::from(version.to_string()));
        assert_eq!(
            commit["path"],
            json!([format!("/m:port[name='p{}']", version - 1)])
        );
    }
    assert!(matches!(next(&mut subscription), Delivery::ReplayComplete));
    fixture.put_directly(r#"{"m:secret":{"key":"k"}}"#);
    let event = next_event(&mut subscription);
    assert_eq!(
        content(&event)["espalier-notifications:commit"]["version"],
        json!("251")
    );
    expect_nothing(&mut subscription);
}

#[test]
fn netconf_has_commits_of_both_modules_and_notifications_in_the_order_of_their_times() {
    let fixture = Fixture::new();
    fixture.put(r#"{"m:port":[{"name":"a"}]}"#);
    fixture.clock.advance_ms(10);
    fixture.alarm(1);
    fixture.clock.advance_ms(10);
    fixture.put(r#"{"m:port":[{"name":"a","speed":1}]}"#);
    let mut subscription = fixture.subscribe(SubscriptionOptions {
        start: Some(NOON),
        ..SubscriptionOptions::default()
    });
    let mut names = Vec::new();
    while let Delivery::Event(event) = next(&mut subscription) {
        names.push(event.name().to_owned());
    }
    let commit = ["commit", "netconf-config-change"];
    assert_eq!(names, [&commit[..], &["alarm"], &commit].concat());
}

#[test]
fn a_large_commit_lists_a_bounded_number_of_nodes() {
    let fixture = Fixture::new();
    let ports: Vec<Value> = (0..3000)
        .map(|number| json!({"name": format!("p{number:04}")}))
        .collect();
    fixture.put(r#"{"m:secret":{"key":"k"}}"#);
    fixture.put(&json!({"m:port": ports}).to_string());
    let mut subscription = fixture.subscribe(commits(Some(NOON)));
    next_event(&mut subscription);
    let event = next_event(&mut subscription);
    let commit = content(&event)["espalier-notifications:commit"].clone();
    let listed = commit["path"].as_array().expect("paths").len();
    assert_eq!(listed, espalier_service::notifications::EVENT_CHANGES_MAX);
    assert_eq!(commit["is-complete"], json!(false));
}

#[test]
fn a_receiver_that_was_there_when_modules_changed_gets_later_events() {
    let fixture = Fixture::new();
    let mut subscription = fixture.subscribe(SubscriptionOptions::default());
    fixture.alarm(1);
    next_event(&mut subscription);
    let store = fixture.tree.store();
    let mut source = store.schema_set("d", "s").unwrap().source;
    for module in &mut source.modules {
        module.text = module.text.replace(
            "notification quiet;",
            "notification quiet; notification loud;",
        );
    }
    let options = espalier_store::UpgradeOptions::default();
    store
        .upgrade_schema_set("d", "s", &source, options)
        .unwrap();
    let anchor = fixture.service.open_anchor("d", "a").unwrap();
    let session = fixture.session(espalier_service::access::Caller::exempt());
    let running = fixture.service.running(&session, &anchor);
    crate::fixture::send_at(&running, "", r#"{"m:loud":{}}"#, None).unwrap();
    let mut found = false;
    eventually("the new notification arrives", || {
        let delivery = subscription
            .next(std::time::Duration::from_millis(50))
            .unwrap();
        found |= matches!(delivery, Some(Delivery::Event(event)) if event.name() == "loud");
        found
    });
}
