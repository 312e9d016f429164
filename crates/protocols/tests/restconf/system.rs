//! Documents that describe the server.

use crate::support::{Server, XML, check_error, check_json};

#[test]
fn host_meta_has_the_root() {
    let server = Server::start();
    let response = server.send("GET", "/.well-known/host-meta", &[], "");
    assert_eq!(response.header("content-type"), "application/xrd+xml");
    assert!(
        response
            .body
            .contains(r#"<Link rel="restconf" href="/restconf"/>"#)
    );
    let headers = [("accept", "application/json")];
    let response = server.send("GET", "/.well-known/host-meta", &headers, "");
    check_json(
        &response,
        r#"{"links":[{"rel":"restconf","href":"/restconf"}]}"#,
    );
}

#[test]
fn the_root_lists_its_resources() {
    let server = Server::start();
    let expected = r#"{"ietf-restconf:restconf":
        {"data":{},"operations":{},"yang-library-version":"2019-01-04"}}"#;
    check_json(&server.send("GET", "/restconf", &[], ""), expected);
    let version = server.send(
        "GET",
        "/restconf/yang-library-version",
        &[("accept", XML)],
        "",
    );
    assert_eq!(
        version.body,
        r#"<yang-library-version xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf">2019-01-04</yang-library-version>"#
    );
    let operations = server.send("GET", "/restconf/operations", &[], "");
    // Those that are answered.
    let lists = |name: &str| operations.body.contains(&format!(r#""{name}":[null]"#));
    assert!(lists("ietf-netconf:commit"), "{}", operations.body);
    assert!(!lists("garden:prune"), "{}", operations.body);
}

#[test]
fn the_library_links_the_texts_of_its_modules() {
    let server = Server::start();
    let path = "/ietf-yang-library:yang-library/module-set=complete/module=garden";
    let response = server.get(path);
    let module: serde_json::Value = serde_json::from_str(&response.body).unwrap();
    let module = &module["ietf-yang-library:module"][0];
    assert_eq!(module["revision"], "2026-01-01");
    assert_eq!(module["namespace"], "urn:espalier:test:garden");
    let location = module["location"][0].as_str().unwrap();
    let base = format!("http://{}", server.address);
    let location = location.strip_prefix(&base).expect("an absolute URL");
    let text = server.send("GET", location, &[], "");
    assert_eq!(
        (text.status, text.header("content-type")),
        (200, "application/yang")
    );
    assert!(text.body.starts_with("module garden {"));
    check_error(
        &server.send("GET", "/restconf/schema/none.yang", &[], ""),
        404,
        "invalid-value",
    );
    for path in ["yang-library", "modules-state", "yang-library/content-id"] {
        let response = server.get(&format!("/ietf-yang-library:{path}"));
        assert_eq!(response.status, 200, "{path}");
        let headers = [("if-none-match", response.header("etag"))];
        let url = format!("/restconf/data/ietf-yang-library:{path}");
        assert_eq!(server.send("GET", &url, &headers, "").status, 304);
    }
    let state = server.get("/ietf-yang-library:modules-state/module=garden,2026-01-01/schema");
    check_json(
        &state,
        &format!(
            r#"{{"ietf-yang-library:schema":"{base}/restconf/schema/garden@2026-01-01.yang"}}"#
        ),
    );
    let write = server.json("PUT", "/ietf-yang-library:yang-library", "{}");
    check_error(&write, 405, "operation-not-supported");
}

#[test]
fn capabilities_are_listed() {
    let server = Server::start();
    let response = server.get("/ietf-restconf-monitoring:restconf-state/capabilities");
    for name in [
        "cursor:1.0",
        "depth:1.0",
        "direction:1.0",
        "fields:1.0",
        "filter:1.0",
        "limit:1.0",
        "locale:1.0",
        "offset:1.0",
        "sort-by:1.0",
        "sublist-limit:1.0",
        "where:1.0",
        "replay:1.0",
        "with-defaults:1.0",
        "with-operational-defaults:1.0",
        "with-origin:1.0",
        "defaults:1.0?basic-mode=explicit",
    ] {
        let uri = format!("urn:ietf:params:restconf:capability:{name}");
        assert!(response.body.contains(&uri), "{}", response.body);
    }
}

#[test]
fn health_and_metrics_are_served() {
    let server = Server::start();
    let health = server.send("GET", "/healthz", &[], "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    let metrics = server.send("GET", "/metrics", &[], "");
    assert_eq!((metrics.status, metrics.body.as_str()), (200, "a 1\n"));
}
