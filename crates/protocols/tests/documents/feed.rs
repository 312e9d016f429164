//! The change feed of a collection.

use std::sync::Arc;
use std::time::Duration;

use espalier_documents::Documents;
use espalier_protocols::documents::{DocumentsService, router};
use espalier_protocols::intake::Intake;
use serde_json::{Value, json};

use crate::event_client::{Client, Event};
use crate::served::Server;
use crate::support::with_cars;

const CHANGES: &str = "/documents/cars/changes";

fn insert(server: &Server, name: &str) {
    let car = json!({ "name": name });
    server.send("POST", "/documents/cars/items", &car).with(201);
}

/// A server, with its service, on an engine.
fn served(url: &str) -> (Arc<DocumentsService>, Server) {
    let driver = espalier_drivers::open(url).expect(url);
    let service = Arc::new(DocumentsService::new(Documents::new(driver, &[0x30])));
    let server = Server::start(router(Arc::clone(&service), Intake::default()));
    server.send("PUT", "/documents/cars", &json!({})).with(201);
    (service, server)
}

/// The id of an event, which is a number.
fn number(event: &Event) -> Option<u64> {
    event.id.as_ref()?.parse().ok()
}

#[test]
fn changes_are_reported_and_a_reconnecting_client_resumes() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().display();
    for url in [
        "memory:".to_owned(),
        format!("sqlite:{dir}/a.db?durability=relaxed"),
        format!("embedded:{dir}/a?durability=relaxed&policy=cached"),
    ] {
        let (_service, server) = served(&url);
        let mut client = Client::open(server.address(), CHANGES, "");
        let begin = number(&client.expect("begin")).expect("an id");
        insert(&server, "a");
        let first = client.expect("commit");
        assert!(number(&first) > Some(begin), "{first:?}");
        assert_eq!(
            first.data["changes"],
            json!([{"key": 0, "document": {"name": "a"}}])
        );
        assert_eq!(first.data["version"].as_u64(), number(&first));
        let both = json!({"operations": [
            {"op": "insert", "collection": "cars", "document": {"name": "b"}},
            {"op": "delete", "collection": "cars", "key": 0},
        ]});
        server.send("POST", "/documents", &both).with(200);
        let second = client.expect("commit");
        assert_eq!(
            second.data["changes"],
            json!([{"key": 0, "deleted": true}, {"key": 1, "document": {"name": "b"}}]),
            "{url}"
        );
        drop(client);
        insert(&server, "c");
        let again = [
            (
                format!("{CHANGES}?after={}", number(&first).unwrap()),
                String::new(),
            ),
            // The id takes precedence over the URL, which a browser does not update.
            (
                format!("{CHANGES}?after={begin}"),
                format!("last-event-id: {}\r\n", number(&first).unwrap()),
            ),
        ];
        for (path, headers) in again {
            let mut client = Client::open(server.address(), &path, &headers);
            assert_eq!(number(&client.expect("begin")), number(&first));
            assert_eq!(client.expect("commit"), second, "{url}");
            let third = client.expect("commit");
            assert_eq!(third.data["changes"][0]["document"], json!({"name": "c"}));
        }
    }
}

#[test]
fn a_version_of_another_history_is_a_gap() {
    let (_service, server) = served("memory:");
    let mut client = Client::open(server.address(), CHANGES, "last-event-id: 1000000\r\n");
    client.expect("begin");
    let gap = client.expect("gap");
    assert!(number(&gap) < Some(1_000_000), "{gap:?}");
    // A document may be null.
    server
        .send("POST", "/documents/cars/items", &Value::Null)
        .with(201);
    let event = client.expect("commit");
    assert_eq!(event.data["changes"], json!([{"key": 0, "document": null}]));
}

#[test]
fn a_collection_that_is_removed_ends_its_feed() {
    let (_service, server) = served("memory:");
    let mut client = Client::open(server.address(), CHANGES, "");
    client.expect("begin");
    server
        .request("DELETE", "/documents/cars", &[], None)
        .with(204);
    let removed = client.expect("removed");
    let detail = removed.data["detail"].as_str().expect("a detail");
    assert!(detail.contains("no collection"), "{removed:?}");
    assert_eq!(client.next(), None);
}

#[test]
fn feeds_end_with_the_server() {
    let (service, server) = served("memory:");
    let mut client = Client::open(server.address(), CHANGES, "");
    client.expect("begin");
    let started = std::time::Instant::now();
    service.end_feeds();
    assert_eq!(client.next(), None, "it ends cleanly");
    assert!(started.elapsed() < Duration::from_secs(60));
    let refused = server.get(CHANGES).with(503);
    assert!(refused.body.contains("shutting down"), "{}", refused.body);
}

#[test]
fn unsupported_feeds_are_rejected() {
    let server = with_cars("ram");
    let refused = server.get(CHANGES).with(400);
    assert!(refused.body.contains("in memory only"), "{}", refused.body);
    let server = with_cars("uncached");
    server.get("/documents/none/changes").with(404);
    server.get(&format!("{CHANGES}?after=x")).with(400);
    let id = [("last-event-id", "yesterday")];
    let refused = server.request("GET", CHANGES, &id, None).with(400);
    assert!(refused.body.contains("Last-Event-ID"), "{}", refused.body);
    let description = server.get("/openapi/documents.json").with(200).json();
    let described = &description["paths"]["/documents/{collection}/changes"]["get"];
    let content = &described["responses"]["200"]["content"]["text/event-stream"];
    assert_eq!(
        content["x-item-schema"]["$ref"],
        "#/components/schemas/Change"
    );
    let parameters = described["parameters"].as_array().expect("parameters");
    assert!(parameters.iter().any(|one| one["name"] == "Last-Event-ID"));
}
