//! The change feed of a collection.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use espalier_documents::Documents;
use espalier_protocols::documents::{DocumentsService, router};
use espalier_protocols::intake::Intake;
use serde_json::{Value, json};

use crate::served::Server;
use crate::support::with_cars;

/// A client that reads events one by one.
struct Client(BufReader<TcpStream>);

#[derive(Debug, PartialEq)]
struct Event {
    id: Option<u64>,
    kind: String,
    data: Value,
}

impl Client {
    fn open(server: &Server, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(server.address()).expect("connected");
        let wait = Some(Duration::from_secs(30));
        stream.set_read_timeout(wait).expect("a timeout");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n"
        )
        .expect("sent");
        let mut client = Self(BufReader::new(stream));
        let head: Vec<String> = std::iter::from_fn(|| client.line())
            .take_while(|line| !line.is_empty())
            .collect();
        assert_eq!(head[0], "HTTP/1.1 200 OK");
        let media = "content-type: text/event-stream";
        assert!(head.iter().any(|line| line == media), "{head:?}");
        client
    }

    /// Reads a line; none at the end. The lines include chunk lengths.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).expect("a line");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// Reads the next event; none if the feed ended cleanly.
    fn next(&mut self) -> Option<Event> {
        let (mut id, mut kind) = (None, String::new());
        loop {
            let line = self.line().expect("the feed was aborted");
            if line == "0" {
                return None;
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.parse().expect("a number"));
            } else if let Some(text) = line.strip_prefix("event: ") {
                kind = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(text).expect("JSON");
                return Some(Event { id, kind, data });
            }
        }
    }

    fn expect(&mut self, kind: &str) -> Event {
        let event = self.next().expect("an event");
        assert_eq!(event.kind, kind, "{event:?}");
        event
    }
}

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
        let mut client = Client::open(&server, CHANGES, "");
        let begin = client.expect("begin").id.expect("an id");
        insert(&server, "a");
        let first = client.expect("commit");
        assert!(first.id > Some(begin), "{first:?}");
        assert_eq!(
            first.data["changes"],
            json!([{"key": 0, "document": {"name": "a"}}])
        );
        assert_eq!(first.data["version"].as_u64(), first.id);
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
                format!("{CHANGES}?after={}", first.id.unwrap()),
                String::new(),
            ),
            // The id takes precedence over the URL, which a browser does not update.
            (
                format!("{CHANGES}?after={begin}"),
                format!("last-event-id: {}\r\n", first.id.unwrap()),
            ),
        ];
        for (path, headers) in again {
            let mut client = Client::open(&server, &path, &headers);
            assert_eq!(client.expect("begin").id, first.id);
            assert_eq!(client.expect("commit"), second, "{url}");
            let third = client.expect("commit");
            assert_eq!(third.data["changes"][0]["document"], json!({"name": "c"}));
        }
    }
}

#[test]
fn a_version_of_another_history_is_a_gap() {
    let (_service, server) = served("memory:");
    let mut client = Client::open(&server, CHANGES, "last-event-id: 1000000\r\n");
    client.expect("begin");
    let gap = client.expect("gap");
    assert!(gap.id < Some(1_000_000), "{gap:?}");
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
    let mut client = Client::open(&server, CHANGES, "");
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
    let mut client = Client::open(&server, CHANGES, "");
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
