//! Modules that another process replaces while clients read and write.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_protocols::anchors::AnchorLimits;
use espalier_service::access::Caller;
use espalier_store::{Datastore, UpgradeOptions};

use crate::support::{Engine, Reply, Server, create, module};

const OLD: &str = "leaf n { type uint32; } leaf m { type uint32; }";
const NEW: &str = "leaf n { type uint32; } leaf m { type uint32; } leaf added { type string; }";

const ANCHORS: [&str; 2] = ["one", "two"];

/// The upgrades of a run.
const UPGRADES: u64 = 10;

/// Clients of two anchors: a writer and a reader each.
struct Clients<'a> {
    server: &'a Server,
    is_done: AtomicBool,
    writes: AtomicU64,
    reads: AtomicU64,
}

impl Clients<'_> {
    fn write(&self, anchor: &str) {
        let mut last = 0;
        while !self.is_done.load(Ordering::Relaxed) {
            let next = last + 1;
            let path = format!("/dataspaces/lab/anchors/{anchor}/restconf/data");
            let body = format!(r#"{{"ietf-restconf:data":{{"b:n":{next},"b:m":{next}}}}}"#);
            let reply = self.server.send("PATCH", &path, &body);
            match reply.status {
                204 => last = next,
                // Nothing was changed: the next attempt writes the same.
                503 => assert_eq!(reply.header("retry-after"), "1"),
                _ => panic!("{reply:?}"),
            }
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self, anchor: &str) {
        let mut last = 0;
        while !self.is_done.load(Ordering::Relaxed) {
            let path = format!("/dataspaces/lab/anchors/{anchor}/restconf/data");
            let data = self.server.get(&path).json();
            let number = |name: &str| data["ietf-restconf:data"][name].as_u64().unwrap_or(0);
            // No part of a commit, and none that is older than one seen before.
            assert_eq!(number("b:n"), number("b:m"), "{data}");
            assert!(number("b:n") >= last, "{data} after {last}");
            last = number("b:n");
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the clients made this number of further requests.
    fn wait_for(&self, further: u64) {
        let goals = [&self.writes, &self.reads]
            .map(|count| (count, count.load(Ordering::Relaxed) + further));
        let deadline = Instant::now() + Duration::from_secs(120);
        for (count, goal) in goals {
            while count.load(Ordering::Relaxed) < goal {
                assert!(Instant::now() < deadline, "the clients do not proceed");
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[test]
fn four_clients_work_through_upgrades() {
    let engine = Engine::new();
    let other = engine.open();
    create(&other, "lab", &module("b", OLD), &ANCHORS);
    let server = Server::new(engine.open(), AnchorLimits::default());
    server.anchors.watch();
    let clients = Clients {
        server: &server,
        is_done: AtomicBool::new(false),
        writes: AtomicU64::new(0),
        reads: AtomicU64::new(0),
    };
    thread::scope(|scope| {
        for anchor in ANCHORS {
            scope.spawn(|| clients.write(anchor));
            scope.spawn(|| clients.read(anchor));
        }
        for round in 0..UPGRADES {
            clients.wait_for(20);
            let source = module("b", if round % 2 == 0 { NEW } else { OLD });
            let options = UpgradeOptions::default();
            let upgraded = other.upgrade_schema_set("lab", "set", &source, options);
            upgraded.unwrap_or_else(|error| panic!("{error}"));
        }
        clients.wait_for(20);
        clients.is_done.store(true, Ordering::Relaxed);
    });
}

/// A request with the session `s`.
fn as_session(server: &Server, method: &str, path: &str, body: &str) -> Reply {
    let session = [("espalier-session", "s")];
    server.request(&Caller::exempt(), (method, path), &session, body)
}

#[test]
fn locks_and_sessions_survive_and_new_nodes_exist_at_once() {
    let engine = Engine::new();
    let other = engine.open();
    create(&other, "lab", &module("b", OLD), &ANCHORS);
    let server = Server::new(engine.open(), AnchorLimits::default());
    let data = "/dataspaces/lab/anchors/one/restconf/data";
    assert_eq!(
        as_session(&server, "PUT", &format!("{data}/b:n"), r#"{"b:n":1}"#).status,
        201
    );
    let lock = other
        .tree("lab", "one", Datastore::Running)
        .expect("a tree");
    lock.lock("s").expect("a lock");
    let sessions = server.service.sessions().list().len();
    let root = "/dataspaces/lab/anchors/one/restconf";
    let text = server.get(&format!("{root}/schema/b.yang")).body;
    let upgrade = |body: &str| {
        let options = UpgradeOptions {
            session: "s",
            ..UpgradeOptions::default()
        };
        let upgraded = other.upgrade_schema_set("lab", "set", &module("b", body), options);
        upgraded.unwrap_or_else(|error| panic!("{error}"));
    };
    upgrade(NEW);
    // No thread looks for changes here: the requests themselves find out.
    assert_ne!(server.get(&format!("{root}/schema/b.yang")).body, text);
    let added = format!("{data}/b:added");
    let options = as_session(&server, "OPTIONS", &added, "");
    assert_eq!(options.status, 200, "{options:?}");
    let made = as_session(&server, "PUT", &added, r#"{"b:added":"a"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    let refused = server.send("PUT", &added, r#"{"b:added":"b"}"#);
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(server.get(&added).body, r#"{"b:added":"a"}"#);
    assert_eq!(server.service.sessions().list().len(), sessions);
}
