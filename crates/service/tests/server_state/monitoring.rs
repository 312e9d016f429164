//! `ietf-netconf-monitoring`, and selections.

use espalier_service::AccessControl;
use espalier_service::access::Caller;
use espalier_store::Selection;
use espalier_yang::path::Fields;
use serde_json::{Value as Json, json};

use crate::fixture::{MODEL, located, read, serving, session, text_of, user};

const SESSIONS: &str = "/ietf-netconf-monitoring:netconf-state/sessions";

#[test]
fn sessions_appear_and_disappear() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    assert_eq!(read(&service, &tree, SESSIONS), Json::Null);
    let one = session(&service, user("maria"), "one");
    let two = session(&service, user("ben"), "two");
    service
        .datastore(&one, tree.clone())
        .view()
        .expect("a view");
    let listed = read(&service, &tree, SESSIONS);
    let listed = &listed["ietf-netconf-monitoring:sessions"]["session"];
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    let mut first = listed[0].clone();
    for time in ["login-time", "espalier-server:last-request"] {
        let text = first[time].as_str().expect("a time");
        assert!(text.starts_with("20") && text.ends_with('Z'), "{text}");
        first[time] = json!("");
    }
    assert_eq!(
        first,
        json!({"session-id": one.id().0, "transport": "espalier-server:http", "username": "maria",
            "source-host": "192.0.2.7", "login-time": "", "in-rpcs": 1, "in-bad-rpcs": 0,
            "out-rpc-errors": 0, "out-notifications": 0, "espalier-server:last-request": ""})
    );
    service.sessions().kill(one.id());
    let listed = read(&service, &tree, SESSIONS);
    let listed = &listed["ietf-netconf-monitoring:sessions"]["session"];
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["session-id"], two.id().0);
    let statistics = read(
        &service,
        &tree,
        "/ietf-netconf-monitoring:netconf-state/statistics",
    );
    let statistics = &statistics["ietf-netconf-monitoring:statistics"];
    assert_eq!(
        (&statistics["in-sessions"], &statistics["dropped-sessions"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn locks_name_their_session() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let path = "/ietf-netconf-monitoring:netconf-state/datastores/datastore[name='running']";
    let unlocked = read(&service, &tree, path);
    let key = "ietf-netconf-monitoring:datastore";
    assert_eq!(unlocked[key], json!([{"name": "running"}]));
    let maria = session(&service, user("maria"), "one");
    let of = service.datastore(&maria, tree.clone());
    of.lock().expect("a lock");
    let locked = read(&service, &tree, path);
    let holder = &locked[key][0]["locks"]["global-lock"]["locked-by-session"];
    assert_eq!(*holder, maria.id().0);
    // The session ended without its lock; it is of no session now.
    service.sessions().close(maria.id());
    let locked = read(&service, &tree, path);
    let holder = &locked[key][0]["locks"]["global-lock"]["locked-by-session"];
    assert_eq!(*holder, 0);
}

#[test]
fn selections_apply() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let maria = session(&service, user("maria"), "one");
    let (of, path) = located(&service, &tree, Caller::exempt(), SESSIONS);
    let fields = Fields::parse(of.schema(), path.target(), "session(session-id;username)");
    let selection = Selection {
        fields: Some(fields.expect("fields")),
        ..Selection::default()
    };
    let id = maria.id().0;
    assert_eq!(
        text_of(&of, &path, &selection).expect("data"),
        format!(
            r#"{{"ietf-netconf-monitoring:sessions":{{"session":[{{"session-id":{id},"username":"maria"}}]}}}}"#
        )
    );
    let shallow = Selection {
        depth: Some(2),
        ..Selection::default()
    };
    let (of, path) = located(
        &service,
        &tree,
        Caller::exempt(),
        "/ietf-netconf-monitoring:netconf-state",
    );
    let text = text_of(&of, &path, &shallow).expect("data");
    let parts: Json = serde_json::from_str(&text).expect("JSON");
    let parts = parts["ietf-netconf-monitoring:netconf-state"].as_object();
    let parts: Vec<&str> = parts.expect("parts").keys().map(String::as_str).collect();
    assert_eq!(parts, ["datastores", "schemas", "sessions", "statistics"]);
}

/// Sessions of transports that a schema does not have are not listed: RFC 6022 has identities of NETCONF only.
#[test]
fn models_without_the_transports_list_no_session_of_them() {
    let modules = [MODEL, "ietf-netconf-monitoring"];
    let (service, tree) = serving(&modules, AccessControl::Off);
    let _session = session(&service, user("maria"), "one");
    assert_eq!(read(&service, &tree, SESSIONS), Json::Null);
    let modules = [MODEL, "ietf-netconf-monitoring", "espalier-server"];
    let (service, tree) = serving(&modules, AccessControl::Off);
    let _session = session(&service, user("maria"), "one");
    let listed = read(&service, &tree, SESSIONS);
    assert_eq!(
        listed["ietf-netconf-monitoring:sessions"]["session"][0]["username"],
        "maria"
    );
}
