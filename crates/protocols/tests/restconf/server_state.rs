//! The state of the server, read as data.

use espalier_protocols::restconf::SESSION_HEADER;
use serde_json::Value as Json;

use crate::support::{HttpResponse, JSON, Server, XML, check_error, check_json};

const OPERATIONAL: &str = "/restconf/ds/ietf-datastores:operational";
const SESSIONS: &str = "/ietf-netconf-monitoring:netconf-state/sessions";

fn json(response: &HttpResponse) -> Json {
    assert_eq!(response.status, 200, "{response:?}");
    serde_json::from_str(&response.body).expect("JSON")
}

/// RFC 8527 §3.1: operational has all state; running has configuration only.
#[test]
fn the_operational_datastore_has_the_state_of_the_server() {
    let server = Server::start();
    server.put("/garden:garden", r#"{"garden:garden":{"title":"Mine"}}"#);
    let whole = json(&server.send("GET", OPERATIONAL, &[], ""));
    let whole = &whole["ietf-restconf:data"];
    assert_eq!(whole["garden:garden"]["title"], "Mine");
    for name in [
        "ietf-yang-library:yang-library",
        "ietf-yang-library:modules-state",
        "ietf-restconf-monitoring:restconf-state",
        "ietf-netconf-monitoring:netconf-state",
        "ietf-netconf-acm:nacm",
    ] {
        assert!(whole[name].is_object(), "{name}: {whole}");
        for (folder, status) in [
            (OPERATIONAL, 200),
            ("/restconf/data", 200),
            ("/restconf/ds/ietf-datastores:running", 404),
        ] {
            let response = server.send("GET", &format!("{folder}/{name}"), &[], "");
            assert_eq!(response.status, status, "{folder}/{name}: {response:?}");
        }
    }
    let xml = server.send("GET", OPERATIONAL, &[("accept", XML)], "").body;
    for start in [
        r#"<garden xmlns="urn:espalier:test:garden"><title>Mine"#,
        "<netconf-state xmlns=",
    ] {
        assert!(xml.contains(start), "{start}: {xml}");
    }
    assert!(xml.ends_with("</data>"), "{xml}");
    let selected = server.send(
        "GET",
        &format!("{OPERATIONAL}?fields=garden:garden/title"),
        &[],
        "",
    );
    check_json(
        &selected,
        r#"{"ietf-restconf:data":{"garden:garden":{"title":"Mine"}}}"#,
    );
    check_json(
        &server.get(""),
        r#"{"ietf-restconf:data":{"garden:garden":{"title":"Mine"}}}"#,
    );
}

#[test]
fn only_the_library_has_entity_tags() {
    let server = Server::start();
    for folder in ["/restconf/data", OPERATIONAL] {
        for (path, has_tag) in [
            ("/ietf-yang-library:yang-library/content-id", true),
            ("/ietf-yang-library:modules-state/module-set-id", true),
            ("/ietf-restconf-monitoring:restconf-state", false),
            ("/ietf-netconf-monitoring:netconf-state", false),
            ("/ietf-netconf-acm:nacm/denied-operations", false),
        ] {
            let url = format!("{folder}{path}");
            let response = server.send("GET", &url, &[], "");
            assert_eq!(response.status, 200, "{response:?}");
            assert_eq!(response.headers.contains_key("etag"), has_tag, "{url}");
            assert_eq!(
                response.headers.contains_key("last-modified"),
                has_tag,
                "{url}"
            );
            let tags = [("if-none-match", "\"old\"")];
            assert_eq!(server.send("GET", &url, &tags, "").status, 200, "{url}");
        }
    }
}

#[test]
fn named_sessions_are_listed() {
    let server = Server::start();
    check_error(&server.get(SESSIONS), 404, "invalid-value");
    let named = [(SESSION_HEADER, "mine")];
    server.send("GET", "/restconf/data", &named, "");
    let path = format!("{SESSIONS}?fields=session(session-id;in-rpcs)");
    check_json(
        &server.get(&path),
        r#"{"ietf-netconf-monitoring:sessions":{"session":[{"session-id":1,"in-rpcs":1}]}}"#,
    );
    check_json(
        &server.get("/ietf-netconf-monitoring:netconf-state?depth=2&fields=sessions"),
        r#"{"ietf-netconf-monitoring:netconf-state":{"sessions":{"session":[{}]}}}"#,
    );
}

#[test]
fn containers_with_state_beyond_the_depth_are_shown() {
    let server = Server::start();
    for content in ["all", "nonconfig"] {
        let path = format!("/ietf-restconf-monitoring:restconf-state?content={content}&depth=2");
        check_json(
            &server.get(&path),
            r#"{"ietf-restconf-monitoring:restconf-state":{"capabilities":{},"streams":{}}}"#,
        );
    }
}

#[test]
fn the_state_is_read_only() {
    let server = Server::start();
    for (path, body) in [
        ("/ietf-netconf-acm:nacm", r#"{"ietf-netconf-acm:nacm":{}}"#),
        (SESSIONS, r#"{"ietf-netconf-monitoring:sessions":{}}"#),
    ] {
        for method in ["PUT", "PATCH", "POST", "DELETE"] {
            let response = server.json(method, path, body);
            check_error(&response, 405, "operation-not-supported");
        }
        let options = server.send("OPTIONS", &format!("/restconf/data{path}"), &[], "");
        assert_eq!(options.header("allow"), "GET, HEAD, OPTIONS");
    }
    let unknown = server.get("/ietf-netconf-monitoring:netconf-state/none");
    assert_eq!(
        (unknown.status, unknown.header("content-type")),
        (404, JSON)
    );
}
