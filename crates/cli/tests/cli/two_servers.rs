//! Two server processes on one store, each with a cache of all data.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::interfaces_data::{INTERFACES, MODULES};
use crate::process::{Sandbox, Server};
use crate::server_engines::servers_under;

const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";
const POLICY: &str = "policy=cached&staleness_ms=30000";

/// The number of changes whose visibility delay is measured.
const CHANGES: u64 = 20;

/// The maximum median delay until a change is visible on the other server.
const VISIBLE: Duration = Duration::from_millis(100);

/// The timeout of every wait.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Two servers on one store.
struct ServerPair {
    sandbox: Sandbox,
    url: String,
    servers: [Server; 2],
}

/// Runs `check` with two servers on each engine that they can share.
fn on_shared_engines(check: impl Fn(&ServerPair)) {
    let sqlite = format!("sqlite:data.db?durability=relaxed&{POLICY}");
    for url in [vec![sqlite], servers_under(POLICY)].concat() {
        eprintln!("over {url}");
        let sandbox = Sandbox::new();
        sandbox.write("interfaces.json", INTERFACES);
        let load = ["load", "interfaces.json", "--store", &url];
        sandbox.run(&[&load, &MODULES[..]].concat()).ok();
        let servers = [(); 2].map(|()| sandbox.serve(&["--store", &url]));
        check(&ServerPair {
            sandbox,
            url,
            servers,
        });
    }
}

#[test]
fn servers_without_a_policy_answer_reads_of_every_kind() {
    for url in servers_under("policy=uncached") {
        let sandbox = Sandbox::new();
        sandbox.write("interfaces.json", INTERFACES);
        let load = ["load", "interfaces.json", "--store", &url];
        sandbox.run(&[&load, &MODULES[..]].concat()).ok();
        let server = sandbox.serve(&["--store", &url]);
        mtu(&server);
        for path in [
            "/restconf/data",
            "/restconf/data?depth=2",
            "/restconf/ds/ietf-datastores:running",
        ] {
            for method in ["GET", "HEAD"] {
                let answer = server.request(method, path, None);
                assert_eq!(answer.status, 200, "{method} {path} over {url}: {answer:?}");
            }
        }
        set_mtu(&server, 1400);
        assert_eq!(mtu(&server), 1400);
    }
}

fn mtu(server: &Server) -> u64 {
    let answer = server.request("GET", &format!("/restconf/data{MTU}"), None);
    assert_eq!(answer.status, 200, "{answer:?}");
    let value: Value = serde_json::from_str(&answer.body).expect("JSON");
    value["ietf-ip:mtu"].as_u64().expect("an mtu")
}

fn set_mtu(server: &Server, mtu: u64) {
    let body = json!({"ietf-ip:mtu": mtu}).to_string();
    let answer = server.request("PUT", &format!("/restconf/data{MTU}"), Some(&body));
    assert!(answer.status < 300, "{answer:?}");
}

#[test]
fn changes_of_one_server_are_visible_on_the_other() {
    on_shared_engines(check_visibility);
}

fn check_visibility(pair: &ServerPair) {
    let servers = &pair.servers;
    let mut delays: Vec<_> = (0..CHANGES)
        .map(|number| {
            let (one, other) = match number % 2 {
                0 => (&servers[0], &servers[1]),
                _ => (&servers[1], &servers[0]),
            };
            set_mtu(one, 2000 + number);
            let start = Instant::now();
            assert_eq!(mtu(one), 2000 + number, "its own change is not shown");
            while mtu(other) != 2000 + number {
                assert!(start.elapsed() < TIMEOUT, "the other does not show it");
            }
            start.elapsed()
        })
        .collect();
    delays.sort();
    assert!(delays[delays.len() / 2] < VISIBLE, "{delays:?}");
    let metrics = servers[0].request("GET", "/metrics", None).body;
    assert!(metrics.contains("espalier_memory_lag_seconds"), "{metrics}");
}

/// Both add entries concurrently: none is lost, and both return all of them.
#[test]
fn concurrent_changes_are_all_kept() {
    on_shared_engines(check_commits);
}

fn check_commits(pair: &ServerPair) {
    const EACH: usize = 20;
    let servers = &pair.servers;
    thread::scope(|scope| {
        for (at, server) in servers.iter().enumerate() {
            scope.spawn(move || {
                for number in 0..EACH {
                    let name = format!("new-{at}-{number}");
                    let kind = "iana-if-type:ethernetCsmacd";
                    let entry =
                        json!({"ietf-interfaces:interface": [{"name": name, "type": kind}]});
                    let path =
                        format!("/restconf/data/ietf-interfaces:interfaces/interface={name}");
                    let answer = server.request("PUT", &path, Some(&entry.to_string()));
                    assert_eq!(answer.status, 201, "{answer:?}");
                    assert_eq!(server.request("GET", &path, None).status, 200);
                }
            });
        }
    });
    let start = Instant::now();
    for server in servers {
        let count = || {
            let body = server.request("GET", "/restconf/data/ietf-interfaces:interfaces", None);
            body.body.matches("new-").count()
        };
        while count() != 2 * EACH {
            assert!(start.elapsed() < TIMEOUT, "{} are there", count());
        }
    }
    pair.sandbox.run(&["check", &pair.url]).ok();
}

/// Locks and pending confirmed commits are effective on both servers.
#[test]
fn locks_and_pending_commits_hold_on_both_servers() {
    on_shared_engines(check_locks);
}

fn check_locks(pair: &ServerPair) {
    let servers = &pair.servers;
    let [one, other] = [&servers[0], &servers[1]].map(|server| server.url.as_str());
    let run = |line: &str, server: &str| {
        let words: Vec<&str> = line.split(' ').chain(["--server", server]).collect();
        pair.sandbox.run(&words)
    };
    run("lock --session maria", one).ok();
    let output = run(&format!("set {MTU} 9000 --session jan"), other).failed(1);
    assert!(output.contains("maria"), "{output}");
    run(&format!("set {MTU} 9000 --session maria"), other).ok();
    run("unlock --session maria", other).ok();
    run(&format!("set {MTU} 1500 --session jan"), one).ok();
    run(&format!("set {MTU} 8000 --datastore candidate"), one).ok();
    run("commit --confirmed 60 --persist move", one).ok();
    let output = run(&format!("set {MTU} 7000"), other);
    assert_ne!(output.status, 0, "{output:?}");
    run("commit --persist-id move", other).ok();
    run(&format!("set {MTU} 7000"), one).ok();
    let start = Instant::now();
    while mtu(&servers[1]) != 7000 {
        assert!(start.elapsed() < TIMEOUT, "the other does not show it");
    }
}
