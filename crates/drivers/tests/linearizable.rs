//! Linearizability of each shared engine: several processes read and write during faults of the engine, of its
//! connections and of the processes, and their observations have to fit one order.
//!
//! `ESPALIER_SEED` repeats the faults and the operations of each process, `ESPALIER_FAULT_SECONDS` sets the
//! duration. With `--nocapture` each fault is printed when it happens.
#![cfg(feature = "memory")]
#![cfg_attr(
    not(any(
        feature = "postgres",
        feature = "redis",
        feature = "mongo",
        feature = "etcd"
    )),
    allow(dead_code, unused_imports, reason = "proxies are for servers")
)]

use std::ops::Range;
use std::thread;
use std::time::Duration;

use espalier_testkit::linearizability::{Hurt, Run, run, worker};
use espalier_testkit::servers::{Process, Proxy, Signal};
use rand::Rng;
use rand::rngs::StdRng;

/// The memory policy of each process; the connections of the first two go through a proxy.
const POLICIES: [&str; 4] = [
    "policy=uncached",
    "policy=cached&read=linearizable",
    "policy=recent",
    "policy=indexed",
];

/// The longest time for which responses are lost before the connection is cut.
const LOST_RESPONSES_MS_MAX: u64 = 20;

/// How long a server is paused.
const PAUSE_MS: Range<u64> = 500..3000;

#[test]
fn child_that_works() {
    worker::part(&espalier_drivers::open);
}

/// Tests one key space, by its URL and by another one that leads through proxies.
fn check(url: &str, through: &str, hurts: Vec<Hurt<'_>>) {
    let urls = [through, through, url, url];
    let urls = urls.iter().zip(POLICIES);
    let urls = urls.map(|(url, policy)| format!("{url}&{policy}"));
    run(&Run {
        part: "child_that_works",
        urls: urls.collect(),
        hurts,
        open: &|| espalier_drivers::open(url).expect("the engine opens in the end"),
    });
}

/// The same URL through proxies, and the faults that they cause.
fn through<'a>(url: &str, proxies: &'a [(u16, Proxy)]) -> (String, Vec<Hurt<'a>>) {
    let through = proxies.iter().fold(url.to_owned(), |url, (port, proxy)| {
        url.replace(&format!(":{port}"), &format!(":{}", proxy.port()))
    });
    assert_ne!(through, url);
    let cut = |_: &mut StdRng| proxies.iter().for_each(|(_, proxy)| proxy.cut());
    let lose = |random: &mut StdRng| {
        proxies.iter().for_each(|(_, proxy)| proxy.lose_answers());
        let time = random.random_range(0..LOST_RESPONSES_MS_MAX);
        thread::sleep(Duration::from_millis(time));
        proxies
            .iter()
            .for_each(|(_, proxy)| proxy.cut_after_requests());
    };
    let hurts = vec![
        Hurt::new("connections are cut", cut),
        Hurt::new("connections are cut before their responses", lose),
    ];
    (through, hurts)
}

/// Pauses a server for some time: connections stay open without responses.
fn pause(server: &Process, random: &mut StdRng) {
    server.signal(Signal::Pause);
    thread::sleep(Duration::from_millis(random.random_range(PAUSE_MS)));
    server.signal(Signal::Continue);
}

fn proxied(ports: impl IntoIterator<Item = u16>) -> Vec<(u16, Proxy)> {
    let ports = ports.into_iter();
    ports.map(|port| (port, Proxy::start(port))).collect()
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    let url = format!("sqlite:{}?durability=durable", file.display());
    check(&url, &url, Vec::new());
}

#[cfg(feature = "embedded")]
#[test]
fn embedded() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!(
        "embedded:{}?durability=durable&journal_size=16K",
        dir.path().display()
    );
    check(&url, &url, Vec::new());
}

#[cfg(feature = "postgres")]
#[test]
fn postgres() {
    use espalier_testkit::servers::Postgres;

    let Some(server) = Postgres::start(&[]) else {
        return;
    };
    let proxies = proxied([server.port()]);
    let url = server.url("sslmode=disable");
    let (through, mut hurts) = through(&url, &proxies);
    // Like `pg_ctl restart -m immediate`.
    hurts.push(Hurt::new("the server is restarted at once", |_| {
        server.restart(Signal::Quit);
    }));
    check(&url, &through, hurts);
}

#[cfg(feature = "redis")]
#[test]
fn redis() {
    use espalier_testkit::servers::Redis;

    let Some(server) = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]) else {
        return;
    };
    let proxies = proxied([server.port()]);
    let url = server.url("timeout_ms=4000");
    let (through, mut hurts) = through(&url, &proxies);
    hurts.push(Hurt::new("the server is killed", |_| {
        server.restart(Signal::Kill);
    }));
    check(&url, &through, hurts);
}

/// With small pages and frequent new trees. Old versions are deleted soon, so that processes are paused for longer
/// than their cached state is valid.
#[cfg(feature = "mongo")]
const SMALL: &str = "timeout_ms=4000&page_bytes=256&tail_bytes=1024&keep_ms=3000";

#[cfg(feature = "mongo")]
#[test]
fn mongo() {
    use espalier_testkit::servers::Mongo;

    if let Some(server) = Mongo::start() {
        check_mongo(&server);
    }
}

/// FerretDB, which has no transactions.
#[cfg(feature = "mongo")]
#[test]
fn ferretdb() {
    use espalier_testkit::servers::Mongo;

    if let Some(server) = Mongo::start_ferretdb(&[]) {
        check_mongo(&server);
    }
}

#[cfg(feature = "mongo")]
fn check_mongo(server: &espalier_testkit::servers::Mongo) {
    let proxies = proxied([server.port()]);
    let url = server.url(SMALL);
    let (through, mut hurts) = through(&url, &proxies);
    hurts.push(Hurt::new("the server is killed", |_| {
        server.restart(Signal::Kill);
    }));
    hurts.push(Hurt::new("the server is paused", |random| {
        pause(server.process(), random);
    }));
    check(&url, &through, hurts);
}

/// Without proxies, as the members and their clients connect to the members' own addresses.
#[cfg(feature = "mongo")]
#[test]
fn mongo_replica_set() {
    use espalier_testkit::servers::ReplicaSet;

    let Some(set) = ReplicaSet::start(3) else {
        return;
    };
    let url = set.url(SMALL);
    let hurts = vec![
        Hurt::new("the primary is killed", |_| {
            set.primary().restart(Signal::Kill);
            set.primary();
        }),
        Hurt::new("the primary is paused", |random| {
            pause(set.primary().process(), random);
            set.primary();
        }),
        Hurt::new("the primary steps down", |_| {
            set.step_down();
            set.primary();
        }),
    ];
    check(&url, &url, hurts);
}

#[cfg(feature = "etcd")]
#[test]
fn etcd() {
    use espalier_testkit::servers::Etcd;

    let Some(etcd) = Etcd::start() else { return };
    let proxies = proxied(etcd.ports().iter().copied());
    let url = etcd.url("timeout_ms=4000");
    let (through, mut hurts) = through(&url, &proxies);
    hurts.push(Hurt::new("the leader is killed", |_| {
        etcd.restart(etcd.leader(), Signal::Kill);
    }));
    hurts.push(Hurt::new("the leader is paused", |random| {
        pause(&etcd.members()[etcd.leader()], random);
        etcd.wait_healthy();
    }));
    check(&url, &through, hurts);
}
