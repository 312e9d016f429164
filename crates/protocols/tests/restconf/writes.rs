//! POST, PUT, PATCH and DELETE.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::restconf::{Limits, RestconfConfig, StateWrites};
use espalier_store::{Store, SystemClock};
use espalier_testkit::fault::Faulty;

use crate::support::{JSON, Server, XML, check_error, check_json, garden_in};

#[test]
fn post_creates() {
    let server = Server::start();
    let response = server.json("POST", "", r#"{"garden:garden":{"title":"t"}}"#);
    assert_eq!(response.status, 201, "{response:?}");
    assert_eq!(response.header("location"), "/restconf/data/garden:garden");
    assert!(!response.header("etag").is_empty());
    let response = server.json(
        "POST",
        "/garden:garden",
        r#"{"garden:bed":[{"name":"a b/c"}]}"#,
    );
    assert_eq!(response.status, 201, "{response:?}");
    assert_eq!(
        response.header("location"),
        "/restconf/data/garden:garden/bed=a%20b%2Fc"
    );
    let again = server.json(
        "POST",
        "/garden:garden",
        r#"{"garden:bed":[{"name":"a b/c"}]}"#,
    );
    check_error(&again, 409, "data-exists");
    let leaf = server.json("POST", "/garden:garden", r#"{"garden:tag":["x"]}"#);
    assert_eq!(
        leaf.header("location"),
        "/restconf/data/garden:garden/tag=x"
    );
    let xml = r#"<row xmlns="urn:espalier:test:garden"><number>1</number><side>north</side></row>"#;
    let response = server.xml("POST", "/garden:garden/bed=a%20b%2Fc", xml);
    assert_eq!(response.status, 201, "{response:?}");
    let location = response.header("location").to_owned();
    assert_eq!(
        location,
        "/restconf/data/garden:garden/bed=a%20b%2Fc/row=1,north"
    );
    assert_eq!(server.send("GET", &location, &[], "").status, 200);
    let missing = server.json("POST", "/garden:garden/bed=z", r#"{"garden:area":1}"#);
    check_error(&missing, 404, "invalid-value");
    let two = server.json("POST", "", r#"{"garden:keyed":[{"k":"1"},{"k":"2"}]}"#);
    assert_eq!(two.status, 400, "{two:?}");
}

#[test]
fn put_creates_and_replaces() {
    let server = Server::start();
    let put = |path: &str, body: &str| server.json("PUT", path, body).status;
    assert_eq!(
        put("/garden:garden", r#"{"garden:garden":{"title":"t"}}"#),
        201
    );
    assert_eq!(
        put("/garden:garden", r#"{"garden:garden":{"tag":["x"]}}"#),
        204
    );
    check_json(
        &server.get("/garden:garden"),
        r#"{"garden:garden":{"tag":["x"]}}"#,
    );
    assert_eq!(
        put(
            "/garden:garden/bed=a",
            r#"{"garden:bed":[{"name":"a","area":3}]}"#
        ),
        201
    );
    assert_eq!(
        put("/garden:garden/bed=a", r#"{"garden:bed":[{"name":"a"}]}"#),
        204
    );
    check_json(
        &server.get("/garden:garden/bed=a"),
        r#"{"garden:bed":[{"name":"a"}]}"#,
    );
    assert_eq!(put("/garden:garden/title", r#"{"garden:title":"u"}"#), 201);
    assert_eq!(put("/garden:garden/title", r#"{"garden:title":"v"}"#), 204);
    assert_eq!(put("/garden:garden/tag=y", r#"{"garden:tag":["y"]}"#), 201);
    assert_eq!(
        put("", r#"{"ietf-restconf:data":{"garden:keyed":[{"k":"1"}]}}"#),
        204
    );
    check_json(
        &server.get(""),
        r#"{"ietf-restconf:data":{"garden:keyed":[{"k":"1"}]}}"#,
    );
}

#[test]
fn put_checks_its_body() {
    let server = Server::start();
    let other_key = server.json("PUT", "/garden:keyed=a", r#"{"garden:keyed":[{"k":"b"}]}"#);
    check_error(&other_key, 400, "invalid-value");
    let other_node = server.json("PUT", "/garden:keyed=a", r#"{"garden:garden":{}}"#);
    assert_eq!(other_node.status, 400, "{other_node:?}");
    let no_parent = server.json("PUT", "/garden:garden/bed=z/area", r#"{"garden:area":1}"#);
    check_error(&no_parent, 409, "data-missing");
    let broken = server.json("PUT", "/garden:keyed=a", r#"{"garden:keyed":[{"k":"#);
    check_error(&broken, 400, "malformed-message");
}

#[test]
fn patch_merges() {
    let server = Server::start();
    server.put(
        "/garden:garden",
        r#"{"garden:garden":{"title":"t","bed":[{"name":"a"}]}}"#,
    );
    let body = r#"{"garden:garden":{"bed":[{"name":"a","area":2},{"name":"b"}]}}"#;
    let response = server.json("PATCH", "/garden:garden", body);
    assert_eq!((response.status, response.body.as_str()), (204, ""));
    check_json(
        &server.get("/garden:garden"),
        r#"{"garden:garden":{"title":"t","bed":[{"name":"a","area":2},{"name":"b"}]}}"#,
    );
    let response = server.json("PATCH", "/garden:garden/title", r#"{"garden:title":"u"}"#);
    assert_eq!(response.status, 204);
    let missing = server.json(
        "PATCH",
        "/garden:garden/bed=z",
        r#"{"garden:bed":[{"name":"z"}]}"#,
    );
    check_error(&missing, 404, "invalid-value");
    let xml = r#"<data xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf"><keyed xmlns="urn:espalier:test:garden"><k>1</k></keyed></data>"#;
    assert_eq!(server.xml("PATCH", "", xml).status, 204);
    check_json(
        &server.get("/garden:keyed=1"),
        r#"{"garden:keyed":[{"k":"1"}]}"#,
    );
}

#[test]
fn delete_deletes() {
    let server = Server::start();
    let body =
        r#"{"garden:garden":{"title":"t","tag":["x","y"],"bed":[{"name":"a"},{"name":"b"}]}}"#;
    server.put("/garden:garden", body);
    for path in ["/title", "/tag=x", "/bed=a"] {
        let path = format!("/garden:garden{path}");
        let response = server.json("DELETE", &path, "");
        assert_eq!(
            (response.status, response.body.as_str()),
            (204, ""),
            "{path}"
        );
        assert_eq!(server.get(&path).status, 404, "{path}");
        check_error(&server.json("DELETE", &path, ""), 404, "invalid-value");
    }
    check_json(
        &server.get("/garden:garden"),
        r#"{"garden:garden":{"bed":[{"name":"b"}],"tag":["y"]}}"#,
    );
    assert_eq!(server.json("DELETE", "/garden:garden", "").status, 204);
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
}

#[test]
fn methods_that_a_resource_lacks_are_405() {
    let server = Server::start();
    server.put(
        "/garden:garden",
        r#"{"garden:garden":{"bed":[{"name":"a"}]}}"#,
    );
    let table = [
        (
            "DELETE",
            "/restconf/data",
            "GET, HEAD, OPTIONS, PATCH, POST, PUT",
        ),
        (
            "POST",
            "/restconf/data/garden:garden/title",
            "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
        ),
        (
            "DELETE",
            "/restconf/data/garden:garden/bed",
            "GET, HEAD, OPTIONS",
        ),
        (
            "PUT",
            "/restconf/data/garden:garden/bed=a/name",
            "GET, HEAD, OPTIONS",
        ),
        (
            "PUT",
            "/restconf/data/garden:garden/weather",
            "GET, HEAD, OPTIONS",
        ),
        ("GET", "/restconf/operations/garden:prune", "OPTIONS, POST"),
        ("POST", "/restconf", "GET, HEAD, OPTIONS"),
        (
            "BREW",
            "/restconf/data",
            "GET, HEAD, OPTIONS, PATCH, POST, PUT",
        ),
    ];
    for (method, path, allow) in table {
        let response = server.send(method, path, &[], "");
        check_error(&response, 405, "operation-not-supported");
        assert_eq!(response.header("allow"), allow, "{method} {path}");
    }
}

#[test]
fn operations_that_nobody_answers_are_not_supported() {
    let server = Server::start();
    let paths = [
        "/restconf/operations/garden:prune",
        "/restconf/data/garden:garden/water",
    ];
    for path in paths {
        let response = server.send("POST", path, &[("content-type", JSON)], "{}");
        check_error(&response, 501, "operation-not-supported");
    }
}

#[test]
fn bodies_of_other_media_types_are_rejected() {
    let server = Server::start();
    for media in ["text/plain", "application/yang-patch+json", ""] {
        let path = "/restconf/data/garden:keyed=a";
        let response = server.send("PUT", path, &[("content-type", media)], "x");
        check_error(&response, 415, "invalid-value");
    }
    let body = r#"<keyed xmlns="urn:espalier:test:garden"><k>a</k></keyed>"#;
    let headers = [("content-type", "application/xml; charset=utf-8")];
    let response = server.send("PUT", "/restconf/data/garden:keyed=a", &headers, body);
    assert_eq!(response.status, 201);
}

#[test]
fn bodies_over_the_limit_are_too_big() {
    let mut config = RestconfConfig::default();
    config.limits.edit_bytes_max = 1000;
    config.limits.load_bytes_max = 3 << 20;
    let server = Server::with(config, None);
    let long = "x".repeat(2000);
    let body = format!(r#"{{"garden:keyed":[{{"k":"a","v":"{long}"}}]}}"#);
    check_error(
        &server.json("PUT", "/garden:keyed=a", &body),
        413,
        "too-big",
    );
    let body = format!(
        r#"{{"garden:garden":{{"title":"{}"}}}}"#,
        "x".repeat(4 << 20)
    );
    check_error(&server.json("PUT", "", &body), 413, "too-big");
}

/// RFC 8040 reserves state data for the server; the configuration can allow writes.
#[test]
fn state_is_writable_where_allowed() {
    let server = Server::start();
    let body = r#"{"garden:garden":{"weather":{"rain":3}}}"#;
    let refused = server.json("PUT", "/garden:garden", body);
    assert_eq!(refused.status, 400, "{refused:?}");
    let config = RestconfConfig {
        state_writes: StateWrites::Allowed,
        ..RestconfConfig::default()
    };
    let server = Server::with(config, None);
    server.put("/garden:garden", body);
    server.put("/garden:garden/weather/rain", r#"{"garden:rain":4}"#);
    check_json(
        &server.get("/garden:garden/weather/rain"),
        r#"{"garden:rain":4}"#,
    );
    check_json(
        &server.get("/garden:garden?content=nonconfig"),
        r#"{"garden:garden":{"weather":{"rain":4}}}"#,
    );
    let config = server.get("/garden:garden?content=config");
    assert!(!config.body.contains("rain"), "{config:?}");
}

#[test]
fn a_patch_may_carry_operations() {
    let server = Server::start();
    server.put(
        "/garden:garden",
        r#"{"garden:garden":{"title":"t","bed":[{"name":"a"},{"name":"b"}]}}"#,
    );
    let body =
        r#"{"garden:garden":{"bed":[{"@":{"ietf-netconf:operation":"delete"},"name":"a"}]}}"#;
    assert_eq!(server.json("PATCH", "/garden:garden", body).status, 204);
    check_json(
        &server.get("/garden:garden"),
        r#"{"garden:garden":{"title":"t","bed":[{"name":"b"}]}}"#,
    );
    let again = server.json("PATCH", "/garden:garden", body);
    check_error(&again, 409, "data-missing");
}

#[test]
fn an_error_response_has_the_format_of_the_request() {
    let server = Server::start();
    for (accept, media) in [("*/*", XML), (JSON, JSON), (XML, XML)] {
        let headers = [("content-type", XML), ("accept", accept)];
        let path = "/restconf/data/garden:keyed=a";
        let response = server.send("PUT", path, &headers, "<broken");
        assert_eq!(
            (response.status, response.header("content-type")),
            (400, media)
        );
    }
}

/// Operations outside of a patch are rejected instead of ignored.
#[test]
fn operations_outside_a_patch_are_rejected() {
    let server = Server::start();
    let body =
        r#"{"garden:garden":{"bed":[{"@":{"ietf-netconf:operation":"delete"},"name":"a"}]}}"#;
    let response = server.json("PUT", "/garden:garden", body);
    check_error(&response, 400, "unknown-attribute");
    let body = r#"<keyed xmlns="urn:espalier:test:garden" xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="delete"><k>a</k></keyed>"#;
    assert_eq!(server.xml("PUT", "/garden:keyed=a", body).status, 400);
    let tagged = r#"{"garden:bed":[{"name":"b","area":1,"@area":{"ietf-netconf-with-defaults:default":true}}]}"#;
    server.put("/garden:garden", r#"{"garden:garden":{"title":"t"}}"#);
    assert_eq!(
        server.json("PUT", "/garden:garden/bed=b", tagged).status,
        201
    );
}

/// A commit that takes long holds the only place for writes; nobody may wait for it.
#[test]
fn writes_over_the_limit_are_rejected_with_the_advice_to_try_again() {
    let memory = Arc::new(Memory::new(Config::default()));
    let slow = Faulty::new(memory).with_commit_time(Duration::from_secs(1));
    let store = Store::open(Arc::new(slow), Arc::new(SystemClock)).unwrap();
    let config = RestconfConfig {
        limits: Limits {
            writes_max: 1,
            writes_waiting_max: 0,
            ..Limits::default()
        },
        ..RestconfConfig::default()
    };
    let server = Server::of(garden_in(&store), config, None);
    let put = || {
        server.json(
            "PUT",
            "/garden:garden",
            r#"{"garden:garden":{"title":"t"}}"#,
        )
    };
    let mut responses = thread::scope(|scope| {
        let first = scope.spawn(put);
        let second = scope.spawn(put);
        [first, second].map(|response| response.join().unwrap())
    });
    responses.sort_by_key(|response| response.status);
    let [made, rejected] = responses;
    assert_eq!(made.status, 201, "{made:?}");
    check_error(&rejected, 503, "resource-denied");
    assert_eq!(rejected.header("retry-after"), "1");
}
