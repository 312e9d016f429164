//! Access rules decide what is delivered (RFC 8341 §3.4.6).

use espalier_service::AccessControl;
use espalier_service::notifications::{Stream, SubscriptionOptions};
use espalier_store::Error;
use serde_json::json;

use crate::fixture::{
    Fixture, NOON, content, expect_nothing, module_stream, next_event, replayed, user,
};

/// Ada may do everything, Ben nothing with the secret, with quiet and with ports named `b`; Cyd may not read by default.
const RULES: &str = r#"{"ietf-netconf-acm:nacm":{
  "groups":{"group":[{"name":"all","user-name":["ada"]},{"name":"some","user-name":["ben"]}]},
  "rule-list":[
    {"name":"all","group":["all"],"rule":[{"name":"r","action":"permit"}]},
    {"name":"some","group":["some"],"rule":[
      {"name":"1","module-name":"m","notification-name":"quiet","action":"deny"},
      {"name":"2","path":"/m:port[m:name='b']","action":"deny"},
      {"name":"3","path":"/m:secret","action":"deny"},
      {"name":"4","path":"/ietf-netconf-acm:nacm","action":"deny"}]}]}}"#;

fn fixture() -> Fixture {
    let fixture = Fixture::with(AccessControl::Rules);
    fixture.put(RULES);
    fixture.put(r#"{"m:port":[{"name":"a"},{"name":"b"}]}"#);
    fixture
}

/// §5 row 53
#[test]
fn denied_notifications_are_dropped_and_counted() {
    let fixture = fixture();
    let mut all = fixture
        .running_of(user("ada"))
        .subscribe(module_stream())
        .unwrap();
    let mut some = fixture
        .running_of(user("ben"))
        .subscribe(module_stream())
        .unwrap();
    for (parent, document) in [
        ("", r#"{"m:quiet":{}}"#),
        ("/m:port[name='b']", r#"{"m:flap":{"up":true}}"#),
        ("/m:port[name='a']", r#"{"m:flap":{"up":true}}"#),
    ] {
        fixture.send(parent, document).unwrap();
    }
    for expected in ["quiet", "flap", "flap"] {
        assert_eq!(next_event(&mut all).name(), expected);
    }
    let visible = next_event(&mut some);
    assert_eq!(
        content(&visible),
        json!({"m:port": [{"name": "a", "flap": {"up": true}}]})
    );
    expect_nothing(&mut some);
    assert_eq!(fixture.service.denied().notifications, 2);
}

#[test]
fn rules_apply_to_past_events_and_to_changes_of_the_rules() {
    let fixture = fixture();
    fixture.alarm(1);
    fixture.send("", r#"{"m:quiet":{}}"#).unwrap();
    let past = SubscriptionOptions {
        start: Some(NOON),
        ..module_stream()
    };
    let mut some = fixture.running_of(user("ben")).subscribe(past).unwrap();
    assert_eq!(replayed(&mut some), [1]);
    fixture.put(
        r#"{"ietf-netconf-acm:nacm":{"rule-list":[{"name":"some","rule":[
            {"name":"1","module-name":"m","notification-name":"alarm","action":"deny"}]}]}}"#,
    );
    fixture.alarm(2);
    fixture.send("", r#"{"m:quiet":{}}"#).unwrap();
    assert_eq!(next_event(&mut some).name(), "quiet");
}

#[test]
fn only_users_with_a_rule_may_send() {
    let fixture = fixture();
    let document = r#"{"m:quiet":{}}"#;
    let send = |name| crate::fixture::send_at(&fixture.running_of(user(name)), "", document, None);
    send("ada").unwrap();
    for name in ["ben", "cyd"] {
        assert!(matches!(send(name), Err(Error::Data(_))), "{name}");
    }
    let patch = json!({"records-max": 1});
    assert!(
        fixture
            .running_of(user("ben"))
            .change_event_settings(&patch)
            .is_err()
    );
    assert!(
        fixture
            .running_of(user("ada"))
            .change_event_settings(&patch)
            .is_ok()
    );
    let mut reader = user("ada");
    reader.is_read_only = true;
    assert!(crate::fixture::send_at(&fixture.running_of(reader), "", document, None).is_err());
}

#[test]
fn commits_show_only_what_the_user_can_read() {
    let fixture = fixture();
    let commits = || SubscriptionOptions {
        stream: Stream::Commits,
        ..SubscriptionOptions::default()
    };
    let mut all = fixture
        .running_of(user("ada"))
        .subscribe(commits())
        .unwrap();
    let mut some = fixture
        .running_of(user("ben"))
        .subscribe(commits())
        .unwrap();
    fixture.put(r#"{"m:secret":{"key":"k"}}"#);
    fixture.put(r#"{"m:secret":{"key":"l"},"m:port":[{"name":"c"}]}"#);
    fixture.put(r#"{"m:port":[{"name":"d"}]}"#);
    let commit = |event: &espalier_service::notifications::Event| {
        content(event)["espalier-notifications:commit"].clone()
    };
    let full =
        json!({"version": "3", "author": "ada", "comment": "why", "path": ["/m:secret/key"]});
    assert_eq!(commit(&next_event(&mut all)), full);
    assert_eq!(
        commit(&next_event(&mut all))["path"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let part = json!({"version": "4", "author": "ada", "path": ["/m:port[name='c']"], "is-complete": false});
    assert_eq!(commit(&next_event(&mut some)), part);
    let last =
        json!({"version": "5", "author": "ada", "comment": "why", "path": ["/m:port[name='d']"]});
    assert_eq!(commit(&next_event(&mut some)), last);
    assert_eq!(commit(&next_event(&mut all)), last);
}

#[test]
fn a_killed_session_gets_nothing_more() {
    let fixture = fixture();
    let sessions = fixture.service.sessions();
    let session = sessions
        .open(espalier_service::session::NewSession {
            caller: user("ada"),
            transport: espalier_service::session::Transport::Http,
            peer: String::new(),
            kind: espalier_service::session::SessionKind::Named,
            name: "one".to_owned(),
        })
        .unwrap();
    let running = fixture.service.datastore(&session, fixture.tree.clone());
    let mut subscription = running.subscribe(module_stream()).unwrap();
    fixture.alarm(1);
    next_event(&mut subscription);
    sessions.kill(session.id());
    fixture.alarm(2);
    let last = crate::fixture::next(&mut subscription);
    assert!(matches!(
        last,
        espalier_service::notifications::Delivery::Terminated(_)
    ));
    assert!(running.subscribe(module_stream()).is_err());
}
