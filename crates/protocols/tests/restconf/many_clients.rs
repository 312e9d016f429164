//! Many clients that write at a time: their edits share a queue, and writes of the engine.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::restconf::RestconfConfig;
use espalier_store::{Store, SystemClock, Tree};
use espalier_testkit::fault::Faulty;

use crate::support::{HttpResponse, JSON, Server, check_error, garden_in};

const CLIENTS: u64 = 32;
const ROUNDS: u64 = 12;

/// A server whose engine takes 2 ms for a write, with its tree and the engine.
fn slow_server() -> (Server, Tree, Arc<Faulty>) {
    let memory = Arc::new(Memory::new(Config::default()));
    let slow = Arc::new(Faulty::new(memory).with_commit_time(Duration::from_millis(2)));
    let store = Store::open(Arc::clone(&slow) as _, Arc::new(SystemClock)).unwrap();
    let (tree, source) = garden_in(&store);
    let server = Server::of((tree.clone(), source), RestconfConfig::default(), None);
    (server, tree, slow)
}

fn version(response: &HttpResponse) -> u64 {
    response.header("espalier-version").parse().unwrap()
}

/// One client's requests. Returns the versions that it made.
fn requests(server: &Server, client: u64) -> Vec<u64> {
    let path = format!("/restconf/data/garden:keyed=c{client}");
    let headers = [("content-type", JSON)];
    let mut versions = Vec::new();
    for round in 0..ROUNDS {
        let body = format!(r#"{{"garden:keyed":[{{"k":"c{client}","v":"{round}"}}]}}"#);
        let made = server.send("PUT", &path, &headers, &body);
        assert_eq!(
            made.status,
            if round % 3 == 0 { 201 } else { 204 },
            "{made:?}"
        );
        versions.push(version(&made));
        // What fails affects nobody else, and says the same as without others.
        let condition = [("content-type", JSON), ("if-match", "\"other\"")];
        let refused = server.send("PATCH", &path, &condition, &body);
        check_error(&refused, 412, "operation-failed");
        let malformed = server.send("PATCH", &path, &headers, r#"{"garden:keyed":[{"x":1}]}"#);
        check_error(&malformed, 400, "unknown-element");
        // It changes nothing.
        let same = server.send("PATCH", &path, &headers, &body);
        assert_eq!(
            (same.status, same.header("espalier-changed")),
            (204, "false")
        );
        let tag = [("if-match", made.header("etag"))];
        if round % 3 == 2 {
            let deleted = server.send("DELETE", &path, &tag, "");
            assert_eq!(deleted.status, 204, "{deleted:?}");
            versions.push(version(&deleted));
            let again = server.send("DELETE", &path, &[], "");
            assert_eq!(again.status, 404, "{again:?}");
        }
    }
    versions
}

#[test]
fn each_edit_has_a_version_of_its_own_and_its_own_result() {
    let (server, tree, engine) = slow_server();
    let before = (tree.view().unwrap().version().unwrap(), engine.commits());
    let versions: BTreeMap<u64, u64> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let server = &server;
                scope.spawn(move || (client, requests(server, client)))
            })
            .collect();
        let made = clients.into_iter().map(|client| client.join().unwrap());
        made.flat_map(|(client, versions)| versions.into_iter().map(move |one| (one, client)))
            .collect()
    });
    let edits = CLIENTS * (ROUNDS + ROUNDS / 3);
    assert!(versions.keys().copied().eq(before.0 + 1..=before.0 + edits));
    let writes = engine.commits() - before.1;
    assert!(writes < edits / 2, "{writes} writes of {edits} edits");
}

/// Its edit is made, or not; it holds up nobody.
#[test]
fn clients_that_leave_hold_up_nobody() {
    let (server, tree, _) = slow_server();
    for number in 0..50 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let body = format!(r#"{{"garden:keyed":[{{"k":"gone{number}","v":"1"}}]}}"#);
        let length = body.len();
        let request = format!(
            "PUT /restconf/data/garden:keyed=gone{number} HTTP/1.1\r\nhost: a\r\ncontent-type: {JSON}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
    }
    let before = tree.view().unwrap().version().unwrap();
    let made = server.send(
        "PUT",
        "/restconf/data/garden:keyed=here",
        &[("content-type", JSON)],
        r#"{"garden:keyed":[{"k":"here","v":"1"}]}"#,
    );
    assert_eq!(made.status, 201, "{made:?}");
    assert!(version(&made) > before);
    server.shut_down();
}
