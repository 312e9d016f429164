//! Two server processes over one store, each with all of it in memory.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::documents::{INTERFACES, MODULES};
use crate::process::{Bench, Server};

const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";
const URL: &str = "sqlite:data.db?policy=cached&staleness_ms=30000&durability=relaxed";

/// Changes whose way is timed.
const CHANGES: u64 = 20;

/// Long enough for anything.
const PATIENCE: Duration = Duration::from_secs(30);

fn servers() -> (Bench, [Server; 2]) {
    let bench = Bench::new();
    bench.write("interfaces.json", INTERFACES);
    let load = [&["load", "interfaces.json", "--store", URL], &MODULES[..]].concat();
    bench.run(&load).ok();
    let servers = [(); 2].map(|()| bench.serve(&["--store", URL]));
    (bench, servers)
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
fn what_one_changes_the_other_shows() {
    let (_bench, servers) = servers();
    let mut waits: Vec<_> = (0..CHANGES)
        .map(|number| {
            let (one, other) = match number % 2 {
                0 => (&servers[0], &servers[1]),
                _ => (&servers[1], &servers[0]),
            };
            set_mtu(one, 2000 + number);
            let start = Instant::now();
            assert_eq!(mtu(one), 2000 + number, "its own change is not shown");
            while mtu(other) != 2000 + number {
                assert!(start.elapsed() < PATIENCE, "the other does not show it");
            }
            start.elapsed()
        })
        .collect();
    waits.sort();
    assert!(
        waits[waits.len() / 2] < Duration::from_millis(100),
        "{waits:?}"
    );
    let metrics = servers[0].request("GET", "/metrics", None).body;
    assert!(metrics.contains("espalier_memory_lag_seconds"), "{metrics}");
}

/// Both add entries at the same time: none is lost, and both show all of them.
#[test]
fn changes_at_the_same_time_are_all_there() {
    const EACH: usize = 20;
    let (bench, servers) = servers();
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
    for server in &servers {
        let count = || {
            let body = server.request("GET", "/restconf/data/ietf-interfaces:interfaces", None);
            body.body.matches("new-").count()
        };
        while count() != 2 * EACH {
            assert!(start.elapsed() < PATIENCE, "{} are there", count());
        }
    }
    bench.run(&["check", URL]).ok();
}

/// Locks and commits that wait for their confirmation hold whatever process they were made in.
#[test]
fn what_holds_a_datastore_holds_it_for_both() {
    let (bench, servers) = servers();
    let [one, other] = [&servers[0], &servers[1]].map(|server| server.url.as_str());
    let run = |line: &str, server: &str| {
        let words: Vec<&str> = line.split(' ').chain(["--server", server]).collect();
        bench.run(&words)
    };
    run("lock --session maria", one).ok();
    let told = run(&format!("set {MTU} 9000 --session jan"), other).failed(1);
    assert!(told.contains("maria"), "{told}");
    run(&format!("set {MTU} 9000 --session maria"), other).ok();
    run("unlock --session maria", other).ok();
    run(&format!("set {MTU} 1500 --session jan"), one).ok();
    run(&format!("set {MTU} 8000 --datastore candidate"), one).ok();
    run("commit --confirmed 60 --persist move", one).ok();
    let told = run(&format!("set {MTU} 7000"), other);
    assert_ne!(told.status, 0, "{told:?}");
    run("commit --persist-id move", other).ok();
    run(&format!("set {MTU} 7000"), one).ok();
    let start = Instant::now();
    while mtu(&servers[1]) != 7000 {
        assert!(start.elapsed() < PATIENCE, "the other does not show it");
    }
}
