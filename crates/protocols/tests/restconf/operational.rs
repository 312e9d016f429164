//! The operational state datastore (RFC 8527 §3): `{+restconf}/ds/ietf-datastores:operational`.

use std::time::Duration;

use espalier_protocols::restconf::RestconfConfig;
use espalier_store::{CommitOptions, Datastore, Edit, Provider, Tree};
use espalier_yang::InstancePath;
use espalier_yang::data::{DataTree, Origin, ParseOptions, Root, TreeBuilder, json};

use crate::support::{HttpResponse, Server, check_error, check_json, garden};

const BASE: &str = "/restconf/ds/ietf-datastores:operational";

fn parse(tree: &Tree, text: &str) -> DataTree {
    let mut builder = TreeBuilder::new();
    let options = ParseOptions::default();
    json::parse(
        tree.schema(),
        Root::Datastore,
        text.as_bytes(),
        &mut builder,
        &options,
    )
    .unwrap();
    builder.finish().unwrap()
}

/// A server with configured and pushed data, and its operational datastore.
fn server() -> (Server, Tree) {
    let (tree, source) = garden();
    let operational = tree.sibling_datastore(Datastore::Operational, "").unwrap();
    let server = Server::of((tree, source), RestconfConfig::default(), None);
    server.put(
        "/garden:garden",
        r#"{"garden:garden":{"title":"Mine","bed":[{"name":"a"}]}}"#,
    );
    let pushed = r#"{"garden:garden":{"bed":[{"name":"b","area":3}],"weather":{"rain":1}}}"#;
    let edits = [Edit::merge(
        InstancePath::root(),
        parse(&operational, pushed),
    )];
    let options = CommitOptions {
        origin: Origin::System,
        ..CommitOptions::default()
    };
    operational.commit(&edits, options).unwrap();
    (server, operational)
}

fn get(server: &Server, path: &str, accept: &str) -> HttpResponse {
    server.send("GET", &format!("{BASE}{path}"), &[("accept", accept)], "")
}

fn get_json(server: &Server, path: &str) -> HttpResponse {
    get(server, path, "application/yang-data+json")
}

#[test]
fn configuration_and_state_are_read_together() {
    let (server, _operational) = server();
    check_json(
        &get_json(&server, "/garden:garden?with-defaults=explicit"),
        r#"{"garden:garden":{"title":"Mine","bed":[{"name":"a"},{"name":"b","area":3}],"weather":{"rain":1}}}"#,
    );
    check_json(
        &server.get("/garden:garden"),
        r#"{"garden:garden":{"title":"Mine","bed":[{"name":"a"}]}}"#,
    );
}

#[test]
fn defaults_are_in_use() {
    let (server, _operational) = server();
    let path = "/garden:garden/bed=a";
    check_json(
        &get_json(&server, path),
        r#"{"garden:bed":[{"name":"a","area":1}]}"#,
    );
}

#[test]
fn origins_are_returned_on_request() {
    let (server, _operational) = server();
    check_json(
        &get_json(&server, "/garden:garden/bed?with-origin"),
        concat!(
            r#"{"garden:bed":[{"@":{"ietf-origin:origin":"ietf-origin:intended"},"name":"a","#,
            r#""area":1,"@area":{"ietf-origin:origin":"ietf-origin:default"}},"#,
            r#"{"@":{"ietf-origin:origin":"ietf-origin:system"},"name":"b","area":3}]}"#
        ),
    );
    let response = get(
        &server,
        "/garden:garden/bed=b?with-origin",
        "application/yang-data+xml",
    );
    assert!(
        response.body.contains(r#"or:origin="or:system""#),
        "{}",
        response.body
    );
    let refused = server.get("/garden:garden?with-origin");
    check_error(&refused, 400, "invalid-value");
}

#[test]
fn clients_cannot_write_it() {
    let (server, _operational) = server();
    for method in ["PUT", "PATCH", "POST", "DELETE"] {
        let path = format!("{BASE}/garden:garden");
        let response = server.json(method, &path, r#"{"garden:garden":{}}"#);
        assert!(
            matches!(response.status, 404 | 405),
            "{method}: {}",
            response.status
        );
        let headers = [("content-type", "application/yang-data+json")];
        let response = server.send(method, &path, &headers, r#"{"garden:garden":{}}"#);
        assert_eq!(response.status, 405, "{method}: {}", response.body);
    }
}

#[test]
fn it_has_no_entity_tag() {
    let (server, _operational) = server();
    let response = get_json(&server, "/garden:garden");
    assert_eq!(response.header("etag"), "");
    let headers = [("if-none-match", "*")];
    let path = format!("{BASE}/garden:garden");
    assert_eq!(server.send("GET", &path, &headers, "").status, 200);
}

#[test]
fn a_slow_provider_does_not_delay_other_parts() {
    let (server, operational) = server();
    let slow = Provider::new("slow", |_| {
        std::thread::sleep(Duration::from_secs(60));
        Ok(DataTree::default())
    });
    let path = "/garden:garden/weather";
    let at = InstancePath::parse_cli_path(operational.schema(), path).unwrap();
    let kept = operational
        .provide(at, slow.with_timeout(Duration::from_millis(20)))
        .expect("a provider");
    let response = get_json(&server, "/garden:garden/weather");
    check_json(&response, r#"{"garden:weather":{"rain":1}}"#);
    drop(kept);
}
