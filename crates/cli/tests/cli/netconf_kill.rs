//! SIGKILL of a server with NETCONF sessions: what they held ends, and what they were doing is done wholly or not at all.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use espalier_testkit::seed;
use rand::Rng;

use crate::netconf_client::{create_store, title};
use crate::netconf_session::{NetconfSession, eventually};
use crate::process::{Sandbox, Server};

const STORE: [&str; 2] = ["--store", "embedded:store"];

const GET: &str = "<get-config><source><running/></source></get-config>";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    create_store(&sandbox);
    sandbox
}

/// A server with this socket, and a session.
fn serve(sandbox: &Sandbox, socket: &str) -> (Server, NetconfSession) {
    let server = sandbox.serve(&[&STORE[..], &["--netconf-socket", socket]].concat());
    let session = NetconfSession::open(&sandbox.path(socket));
    (server, session)
}

fn edit(datastore: &str, config: &str) -> String {
    format!("<edit-config><target><{datastore}/></target><config>{config}</config></edit-config>")
}

fn confirmed(session: &NetconfSession, seconds: u32, persist: &str) {
    session.ok(&edit("candidate", &title("unconfirmed")));
    session.ok(&format!(
        "<commit><confirmed/><confirm-timeout>{seconds}</confirm-timeout>{persist}</commit>"
    ));
    assert!(session.ok(GET).contains("unconfirmed"));
}

/// RFC 6241 §8.4.1: the end of the session rolls back, not the time.
#[test]
fn a_confirmed_commit_of_a_killed_server_is_rolled_back_with_its_session() {
    let sandbox = sandbox();
    let (server, session) = serve(&sandbox, "a.sock");
    confirmed(&session, 3600, "");
    server.kill();
    let (_server, session) = serve(&sandbox, "a.sock");
    eventually("the commit is rolled back", || {
        !session.ok(GET).contains("unconfirmed")
    });
}

#[test]
fn a_confirmed_commit_that_persists_is_rolled_back_at_its_time_by_the_next_server() {
    let sandbox = sandbox();
    let (server, session) = serve(&sandbox, "a.sock");
    confirmed(&session, 6, "<persist>p</persist>");
    server.kill();
    let (server, session) = serve(&sandbox, "a.sock");
    eventually("the commit is rolled back", || {
        !session.ok(GET).contains("unconfirmed")
    });
    // One with more time outlasts the sessions of both servers, and can be confirmed.
    confirmed(&session, 3600, "<persist>q</persist>");
    server.kill();
    let (_server, session) = serve(&sandbox, "a.sock");
    thread::sleep(Duration::from_secs(2));
    assert!(session.ok(GET).contains("unconfirmed"));
    session.ok("<commit><persist-id>q</persist-id></commit>");
    assert!(session.ok(GET).contains("unconfirmed"));
}

#[test]
fn locks_and_the_candidate_of_a_killed_server_are_released_by_the_next_one() {
    let sandbox = sandbox();
    let (server, session) = serve(&sandbox, "a.sock");
    session.ok("<lock><target><candidate/></target></lock>");
    session.ok("<lock><target><running/></target></lock>");
    session.ok(&edit("candidate", &title("not committed")));
    server.kill();
    let (_server, session) = serve(&sandbox, "a.sock");
    eventually("running is unlocked", || {
        session.request(&edit("running", &title("second"))).is_ok()
    });
    let candidate = session.ok(&GET.replace("running", "candidate"));
    assert!(!candidate.contains("not committed"), "{candidate}");
}

/// A named session of a command is not that of a connection.
#[test]
fn locks_of_named_sessions_outlast_a_killed_server() {
    let sandbox = sandbox();
    let (server, _session) = serve(&sandbox, "a.sock");
    let lock = ["lock", "--session", "maria", "--server", &server.url];
    sandbox.run(&lock).ok();
    server.kill();
    let (_server, session) = serve(&sandbox, "a.sock");
    thread::sleep(Duration::from_secs(2));
    let error = session.request(&edit("running", &title("second")));
    let error = error.expect_err("a lock").to_string();
    assert!(error.contains("maria"), "{error}");
}

/// Servers that share a store keep the locks of each other, until one is killed.
#[test]
fn a_server_releases_the_locks_of_another_one_when_that_is_dead() {
    let sandbox = sandbox();
    let (first_server, first) = serve(&sandbox, "a.sock");
    let (_second_server, second) = serve(&sandbox, "b.sock");
    first.ok("<lock><target><running/></target></lock>");
    thread::sleep(Duration::from_secs(12));
    let try_edit = || second.request(&edit("running", &title("second")));
    assert!(try_edit().is_err(), "the lock of a living server");
    first_server.kill();
    eventually("the lock is released", || try_edit().is_ok());
}

/// A document of entries `0` to `count - 1` with this value.
fn entries(count: usize, value: u8) -> String {
    let entries: String = (0..count)
        .map(|number| format!("<e><k>{number}</k><v>{value}</v></e>"))
        .collect();
    format!("<c xmlns=\"urn:m\">{entries}</c>")
}

/// The value that all entries have; panics if they are not all there with the same one.
fn value_of_entries(document: &str, count: usize) -> u8 {
    let values = document.match_indices("<v>");
    let mut values = values.map(|(at, _)| document[at + 3..].split('<').next());
    let first = values.next().flatten().expect("an entry");
    assert!(values.clone().all(|value| value == Some(first)), "half");
    assert_eq!(values.count() + 1, count, "half");
    first.parse().expect("a number")
}

/// Kills servers while they change what `read` returns from one value to the next.
fn kill_during(change: fn(u8) -> Vec<String>, read: &str) {
    const COUNT: usize = 3000;
    let mut random = seed::generator();
    let sandbox = sandbox();
    let (server, session) = serve(&sandbox, "a.sock");
    let remove = edit(
        "running",
        "<c xmlns=\"urn:m\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\"/>",
    );
    session.ok(&remove);
    for operation in change(0) {
        session.ok(&operation);
    }
    assert_eq!(value_of_entries(&session.ok(read), COUNT), 0);
    drop(server);
    let mut value = 0;
    for round in 0..6 {
        let (server, session) = serve(&sandbox, "a.sock");
        let pause = Duration::from_millis(random.random_range(0..120));
        let killer = thread::spawn(move || {
            thread::sleep(pause);
            server.kill();
        });
        let operations = change(value + 1);
        let is_done = operations.iter().all(|one| session.request(one).is_ok());
        killer.join().expect("the killer");
        let (_server, session) = serve(&sandbox, "a.sock");
        let found = value_of_entries(&session.ok(read), COUNT);
        assert!(
            found == value + 1 || (found == value && !is_done),
            "round {round}: {found} after {value}, acknowledged: {is_done}"
        );
        value = found;
    }
    sandbox.run(&["check", "--store", "embedded:store"]).ok();
}

#[test]
fn kill_during_a_large_edit_leaves_all_or_nothing() {
    kill_during(|value| vec![edit("running", &entries(3000, value))], GET);
}

#[test]
fn kill_during_a_copy_to_startup_leaves_all_or_nothing() {
    let change = |value| {
        let copy =
            "<copy-config><target><startup/></target><source><running/></source></copy-config>";
        vec![edit("running", &entries(3000, value)), copy.to_owned()]
    };
    let startup = GET.replace("running", "startup");
    kill_during(change, &startup);
}

const NOTIFICATIONS: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";

/// Killed in the middle of a replay; the next server replays the events of all commits that were acknowledged.
#[test]
fn kill_during_a_replay_loses_no_event() {
    const COMMITS: usize = 300;
    let sandbox = sandbox();
    let (server, session) = serve(&sandbox, "a.sock");
    for number in 0..COMMITS {
        session.ok(&edit("running", &title(&format!("title {number}"))));
    }
    let subscribe = format!(
        "<create-subscription xmlns=\"{NOTIFICATIONS}\"><startTime>2020-01-01T00:00:00Z</startTime></create-subscription>"
    );
    let mut notifications = session.notifications();
    session.ok(&subscribe);
    let first = session.next(&mut notifications);
    assert!(first.is_some_and(|text| text.contains("notification")));
    server.kill();
    while session.next(&mut notifications).is_some() {}
    let (_server, session) = serve(&sandbox, "a.sock");
    let mut notifications = session.notifications();
    session.ok(&subscribe);
    let mut changes = 0;
    loop {
        let text = session.next(&mut notifications).expect("a session");
        changes += usize::from(text.contains("netconf-config-change"));
        if text.contains("replayComplete") {
            break;
        }
    }
    assert!(changes >= COMMITS, "{changes}");
}

/// A client that waits for the server is called again by the next one, while the connection of the killed one is still open
/// on its side.
#[test]
fn kill_during_a_call_home_is_followed_by_another_call() {
    let sandbox = sandbox();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let client = format!("nms=ssh://127.0.0.1:{port}");
    let options = ["--netconf-call-home", &client, "--netconf-host-keys", "k"];
    let mut connections = Vec::new();
    for _ in 0..2 {
        let server = sandbox.serve(&[&STORE[..], &options].concat());
        let (stream, _) = listener.accept().expect("a call");
        let mut line = String::new();
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut line).expect("a line");
        assert!(line.starts_with("SSH-2.0-Espalier"), "{line}");
        server.kill();
        connections.push(reader);
    }
}
