//! GET, HEAD and OPTIONS.

use crate::support::{JSON, Server, XML, check_error, check_json};

const BEDS: &str = r#"{"garden:garden":{"title":"Mine","bed":[
    {"name":"a","area":4,"row":[{"number":1,"side":"north","crop":"leek"},{"number":1,"side":"south"}]},
    {"name":"b"}],"tag":["x","y"]}}"#;

fn server() -> Server {
    let server = Server::start();
    server.put("/garden:garden", BEDS);
    server
}

#[test]
fn resources_are_read() {
    let server = server();
    let table = [
        ("/garden:garden/title", r#"{"garden:title":"Mine"}"#),
        ("/garden:garden/bed=b", r#"{"garden:bed":[{"name":"b"}]}"#),
        (
            "/garden:garden/bed=a/row=1,north",
            r#"{"garden:row":[{"number":1,"side":"north","crop":"leek"}]}"#,
        ),
        (
            "/garden:garden/bed=a/row=1,north/crop",
            r#"{"garden:crop":"leek"}"#,
        ),
        ("/garden:garden/tag=x", r#"{"garden:tag":["x"]}"#),
        ("/garden:garden/tag", r#"{"garden:tag":["x","y"]}"#),
        ("/garden:garden", BEDS),
    ];
    for (path, expected) in table {
        let response = server.get(path);
        check_json(&response, expected);
        assert_eq!(response.header("content-type"), JSON);
        assert_eq!(response.header("cache-control"), "no-cache");
        assert!(
            !response.header("etag").is_empty() && !response.header("last-modified").is_empty()
        );
    }
    check_json(
        &server.get(""),
        &format!(r#"{{"ietf-restconf:data":{BEDS}}}"#),
    );
    let named = server.send(
        "GET",
        "/restconf/ds/ietf-datastores:running/garden:garden/title",
        &[],
        "",
    );
    check_json(&named, r#"{"garden:title":"Mine"}"#);
}

#[test]
fn xml_is_read() {
    let server = server();
    let response = server.get_xml("/garden:garden/bed=b");
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), XML);
    assert_eq!(
        response.body,
        r#"<bed xmlns="urn:espalier:test:garden"><name>b</name></bed>"#
    );
    let response = server.get_xml("");
    let start = r#"<data xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf"><garden xmlns="#;
    assert!(response.body.starts_with(start), "{}", response.body);
}

/// RFC 8040 §4.3: at most one list entry in XML.
#[test]
fn a_whole_list_in_xml_is_rejected() {
    let server = server();
    let response = server.get_xml("/garden:garden/bed");
    assert_eq!(response.status, 400);
    assert!(
        response
            .body
            .contains("<error-tag>invalid-value</error-tag>"),
        "{}",
        response.body
    );
    assert_eq!(server.get_xml("/garden:garden/bed?limit=1").status, 200);
}

#[test]
fn an_empty_datastore_is_empty() {
    let server = Server::start();
    check_json(&server.get(""), r#"{"ietf-restconf:data":{}}"#);
    check_error(&server.get("/garden:keyed"), 404, "invalid-value");
}

#[test]
fn what_does_not_exist_is_not_found() {
    let server = server();
    let missing = [
        "/garden:garden/bed=z",
        "/garden:garden/bed=a/row=1,north/none",
        "/garden:garden/soil/ph",
        "/garden:nothing",
        "/nothing:garden",
        "/garden:garden/tag=z",
        "/garden:garden/greenhouse",
    ];
    for path in missing {
        check_error(&server.get(path), 404, "invalid-value");
    }
    for path in [
        "/restconf/nothing",
        "/restconf/ds/ietf-datastores:none",
        "/restconf/ds/x",
    ] {
        check_error(&server.send("GET", path, &[], ""), 404, "invalid-value");
    }
}

#[test]
fn wrong_paths_are_bad_requests() {
    let server = server();
    let table = [
        ("/garden:garden/bed=a,b", "invalid-value"),
        ("/garden:garden/bed=a/row=1", "missing-element"),
        ("/garden:garden/bed=a/row=x,north", "invalid-value"),
        ("/garden:garden/bed/row=1,north", "missing-element"),
        ("/garden:garden/bed=%FF", "invalid-value"),
    ];
    for (path, tag) in table {
        let response = server.get(path);
        assert_eq!(response.status, 400, "{path}: {response:?}");
        let _ = tag;
    }
}

#[test]
fn head_is_get_without_a_body() {
    let server = server();
    let get = server.get("/garden:garden");
    let head = server.send("HEAD", "/restconf/data/garden:garden", &[], "");
    assert_eq!(head.status, 200);
    assert_eq!(head.body, "");
    for name in [
        "content-type",
        "content-length",
        "etag",
        "last-modified",
        "cache-control",
    ] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
}

#[test]
fn options_name_the_methods() {
    let server = server();
    let table = [
        ("/restconf/data", "GET, HEAD, OPTIONS, PATCH, POST, PUT"),
        (
            "/restconf/data/garden:garden",
            "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
        ),
        (
            "/restconf/data/garden:garden/title",
            "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
        ),
        ("/restconf/data/garden:garden/weather", "GET, HEAD, OPTIONS"),
        ("/restconf/data/garden:garden/bed", "GET, HEAD, OPTIONS"),
        (
            "/restconf/data/garden:garden/bed=a/name",
            "GET, HEAD, OPTIONS",
        ),
        ("/restconf/data/garden:garden/water", "OPTIONS, POST"),
        ("/restconf/operations/garden:prune", "OPTIONS, POST"),
        ("/restconf", "GET, HEAD, OPTIONS"),
    ];
    for (path, methods) in table {
        let response = server.send("OPTIONS", path, &[], "");
        assert_eq!(
            (response.status, response.header("allow")),
            (200, methods),
            "{path}"
        );
        let has_patch = methods.contains("PATCH");
        assert_eq!(
            response.header("accept-patch").contains(JSON),
            has_patch,
            "{path}"
        );
    }
}

#[test]
fn media_types_are_negotiated() {
    let server = server();
    let table = [
        ("application/json", 200, "application/json"),
        ("text/xml", 200, "text/xml; charset=utf-8"),
        (
            "application/yang-data+xml;q=0.5, application/*;q=0.1",
            200,
            XML,
        ),
        ("*/*", 200, JSON),
        ("image/png", 406, JSON),
    ];
    for (accept, status, media) in table {
        let headers = [("accept", accept)];
        let response = server.send("GET", "/restconf/data/garden:garden/title", &headers, "");
        assert_eq!(
            (response.status, response.header("content-type")),
            (status, media),
            "{accept}"
        );
    }
}

#[test]
fn errors_in_xml_have_namespaces() {
    let server = server();
    let body = r#"<bed xmlns="urn:espalier:test:garden"><name>q</name><area>x</area></bed>"#;
    let headers = [("content-type", XML), ("accept", XML)];
    let response = server.send("PUT", "/restconf/data/garden:garden/bed=q", &headers, body);
    assert_eq!(response.status, 400, "{response:?}");
    assert_eq!(response.header("content-type"), XML);
    for part in [
        r#"<errors xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf"><error>"#,
        "<error-tag>invalid-value</error-tag>",
        r#"<error-path xmlns:garden="urn:espalier:test:garden">/garden:garden/garden:bed[garden:name='q']/garden:area</error-path>"#,
    ] {
        assert!(response.body.contains(part), "{part} in {}", response.body);
    }
}

#[test]
fn all_errors_of_a_document_are_reported() {
    let server = server();
    let body = r#"{"garden:bed":[{"name":"q","area":"x","unknown":1}]}"#;
    let response = server.json("PUT", "/garden:garden/bed=q", body);
    assert_eq!(response.status, 400);
    let errors: serde_json::Value = serde_json::from_str(&response.body).unwrap();
    let errors = errors["ietf-restconf:errors"]["error"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(errors[0]["error-path"], "/garden:garden/bed[name='q']/area");
}
