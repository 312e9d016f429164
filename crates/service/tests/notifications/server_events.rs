//! The notifications of the server itself (RFC 6470).

use espalier_service::notifications::{EventFilter, Stream, SubscriptionOptions};
use espalier_service::session::{NewSession, SessionKind, Transport};
use espalier_service::{ChangeNote, ModuleUpgrade};
use espalier_store::{ConfirmOptions, Datastore, Edit};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;
use serde_json::json;

use crate::fixture::{Fixture, NOON, content, next_event, user};

fn new_session() -> NewSession {
    NewSession {
        caller: user("eve"),
        transport: Transport::Http,
        peer: "192.0.2.9:1234".to_owned(),
        kind: SessionKind::Named,
        name: "s".to_owned(),
    }
}

#[test]
fn sessions_are_reported_and_recorded_only_if_the_settings_require_it() {
    let fixture = Fixture::new();
    let sessions = fixture.service.sessions();
    sessions.open(new_session()).unwrap();
    assert_eq!(fixture.tree.event_log().unwrap().last, 0);
    let mut subscription = fixture.subscribe(SubscriptionOptions::default());
    let mut other = new_session();
    other.name = "t".to_owned();
    let session = sessions.open(other.clone()).unwrap();
    sessions.open(other.clone()).unwrap();
    sessions.kill(session.id());
    let start = json!({"ietf-netconf-notifications:netconf-session-start":
        {"username": "eve", "session-id": 2, "source-host": "192.0.2.9"}});
    assert_eq!(content(&next_event(&mut subscription)), start);
    let end = content(&next_event(&mut subscription));
    let end = &end["ietf-netconf-notifications:netconf-session-end"];
    assert_eq!(end["termination-reason"], json!("killed"));
    assert_eq!(fixture.tree.event_log().unwrap().last, 0);
    let patch = json!({"record-sessions": true});
    fixture.running().change_event_settings(&patch).unwrap();
    let session = sessions.open(other).unwrap();
    sessions.close(session.id());
    assert_eq!(fixture.tree.event_log().unwrap().last, 2);
    let recorded = fixture.tree.events_from(1).unwrap().records;
    assert_eq!(
        recorded[0].name,
        "ietf-netconf-notifications:netconf-session-start"
    );
    for expected in ["netconf-session-start", "netconf-session-end"] {
        assert_eq!(next_event(&mut subscription).name(), expected);
    }
}

#[test]
fn the_phases_of_a_confirmed_commit_are_reported() {
    let fixture = Fixture::new();
    let filter = EventFilter::parse_xpath("/ietf-netconf-notifications:netconf-confirmed-commit");
    let mut subscription = fixture.subscribe(SubscriptionOptions {
        stream: Stream::Netconf,
        filter: Some(std::sync::Arc::new(filter.unwrap())),
        ..SubscriptionOptions::default()
    });
    let candidate = fixture.running().sibling(Datastore::Candidate).unwrap();
    let commit = |timeout| {
        let speed = fixture.clock_text();
        let document = json_document(fixture.tree.schema(), &speed);
        let edit = Edit::merge(InstancePath::root(), document);
        candidate
            .commit(&[edit], ChangeNote::default(), None)
            .unwrap();
        let confirm = ConfirmOptions {
            timeout,
            persist: None,
            persist_id: None,
        };
        candidate
            .commit_candidate(confirm, ChangeNote::default())
            .unwrap();
        fixture.clock.advance_ms(1);
    };
    commit(Some(100));
    commit(Some(200));
    commit(None);
    commit(Some(10));
    fixture.clock.advance_ms(11_000);
    assert_eq!(fixture.service.roll_back_expired_commits().unwrap(), 1);
    commit(Some(10));
    candidate
        .cancel_commit(None, ChangeNote::default())
        .unwrap();
    commit(None);
    for (phase, timeout) in [
        ("start", json!(100)),
        ("extend", json!(200)),
        ("complete", json!(null)),
        ("start", json!(10)),
        ("timeout", json!(null)),
        ("start", json!(10)),
        ("cancel", json!(null)),
    ] {
        let event = content(&next_event(&mut subscription));
        let event = &event["ietf-netconf-notifications:netconf-confirmed-commit"];
        assert_eq!(
            (&event["confirm-event"], &event["timeout"]),
            (&json!(phase), &timeout)
        );
        assert_eq!(event["username"].is_null(), phase == "timeout");
    }
}

#[test]
fn past_sessions_are_replayed_if_they_were_recorded() {
    let fixture = Fixture::new();
    let patch = json!({"record-sessions": true});
    fixture.running().change_event_settings(&patch).unwrap();
    fixture.service.sessions().open(new_session()).unwrap();
    let mut subscription = fixture.subscribe(SubscriptionOptions {
        start: Some(NOON),
        ..SubscriptionOptions::default()
    });
    assert_eq!(
        next_event(&mut subscription).name(),
        "netconf-session-start"
    );
}

#[test]
fn a_change_of_modules_is_reported() {
    let fixture = Fixture::new();
    let mut subscription = fixture.subscribe(SubscriptionOptions::default());
    let mut source = fixture.tree.store().schema_set("d", "s").unwrap().source;
    for module in &mut source.modules {
        module.text = module
            .text
            .replace("prefix m;", "prefix m; revision 2026-11-28;");
    }
    let other = "module n { namespace urn:n; prefix n; leaf l { type string; } }";
    source
        .modules
        .extend(espalier_yang::schema::ModuleSource::from_text(other));
    let running = fixture.running();
    for is_trial in [true, false] {
        let how = ModuleUpgrade {
            is_trial,
            ..ModuleUpgrade::default()
        };
        let note = ChangeNote::default();
        running.upgrade(&source, how, note).unwrap();
    }
    let event = content(&next_event(&mut subscription));
    let change = &event["ietf-netconf-notifications:netconf-capability-change"];
    assert_eq!(change["added-capability"], json!(["urn:n?module=n"]));
    let modified = json!(["urn:m?module=m&revision=2026-11-28"]);
    assert_eq!(change["modified-capability"], modified);
    assert!(change["deleted-capability"].is_null());
}
