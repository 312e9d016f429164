//! The PostgreSQL driver in several processes, and when its server and its connections fail.
#![cfg(feature = "postgres")]

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{
    Batch, Change, Committed, Direction, Driver, ErrorKind, KeyRange, Version, Watch, WatchEvent,
    counter,
};
use espalier_testkit::processes_on_counter;
use espalier_testkit::seed;
use espalier_testkit::servers::{Postgres, Proxy, Signal};
use rand::Rng;
use rand::rngs::StdRng;

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the schema opens")
}

fn put(driver: &dyn Driver, key: &str, value: &str) -> Version {
    let mut batch = Batch::new();
    batch.put(key, value);
    driver.commit(batch).expect("a put").version
}

fn put_often(driver: &dyn Driver, times: u32) {
    for _ in 0..times {
        put(driver, "key", "value");
    }
}

fn get(driver: &dyn Driver, key: &str) -> Option<Vec<u8>> {
    let snapshot = driver.snapshot().expect("a snapshot");
    let value = snapshot.get(key.as_bytes()).expect("a get");
    value.map(std::borrow::Cow::into_owned)
}

#[test]
fn part_counting() {
    processes_on_counter::part(open);
}

#[test]
fn two_processes_count_exactly_and_each_change_is_reported() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("");
    let driver = open(&url);
    let start = driver.snapshot().expect("a snapshot").version();
    let mut watch = driver.watch(KeyRange::all(), start).expect("a watch");
    processes_on_counter::two_processes_count_exactly(&*driver, &url);
    for number in 1..=2 * processes_on_counter::COMMITS {
        let change = Change::Put {
            key: b"count".to_vec(),
            value: counter::encode(number).to_vec(),
        };
        assert_eq!(next_changes(&mut *watch), [change]);
    }
}

/// The changes of the next commit, which must not be a gap.
fn next_changes(watch: &mut dyn Watch) -> Vec<Change> {
    match watch.next(Duration::from_secs(20)).expect("a watch") {
        Some(WatchEvent::Commit { changes, .. }) => changes,
        other => panic!("{other:?} is no commit"),
    }
}

/// Statements in the log of a server that logs them all.
fn statements(server: &Postgres) -> usize {
    let log = server.process().log();
    log.matches("LOG:  execute ").count() + log.matches("LOG:  statement: ").count()
}

#[test]
fn a_small_commit_is_one_statement() {
    let Some(server) = Postgres::start(&["fsync=off", "log_statement=all"]) else {
        return;
    };
    let driver = open(&server.url(""));
    let before = statements(&server);
    put(&*driver, "a", "1");
    put(&*driver, "b", "1");
    let mut batch = Batch::new();
    batch.require("a", Some(b"1".to_vec()));
    batch.require("c", None);
    batch.require("n", None);
    batch.put("c", "2");
    batch.delete("b");
    batch.delete_range(KeyRange::prefix(b"a"));
    batch.put("a2", "2");
    batch.add("n", 3);
    driver.commit(batch).expect("a commit");
    assert_eq!(statements(&server), before + 3);
    let values = ["a", "a2", "b", "c", "n"].map(|key| get(&*driver, key));
    let two = Some(b"2".to_vec());
    let expected = [
        None,
        two.clone(),
        None,
        two,
        Some(counter::encode(3).to_vec()),
    ];
    assert_eq!(values, expected);
}

#[test]
fn many_rows_are_copied_between_existing_ones() {
    const ROWS: u32 = 3000;
    let Some(server) = Postgres::start(&["fsync=off", "log_statement=all"]) else {
        return;
    };
    type Exists = fn(&u32) -> bool;
    let existing: [(&str, Exists); 5] = [
        ("nothing", |_| false),
        ("the first and the last", |row| [0, ROWS - 1].contains(row)),
        ("a few", |row| row % 700 == 5),
        ("every other", |row| row % 2 == 0),
        ("all", |_| true),
    ];
    let oracle = open("memory:");
    for (name, exists) in existing {
        let driver = open(&server.url(""));
        let mut old = Batch::new();
        let rows = (0..ROWS).filter(exists);
        rows.for_each(|row| old.put(row.to_be_bytes(), "old"));
        old.put("other", "old");
        let mut new = Batch::new();
        // These are deleted first, and then inserted as new rows.
        new.delete_range(KeyRange::new(100u32.to_be_bytes(), 900u32.to_be_bytes()));
        new.delete("other");
        (0..ROWS).for_each(|row| new.put(row.to_be_bytes(), row.to_be_bytes()));
        for batch in [old, new] {
            for driver in [&driver, &oracle] {
                driver.commit(batch.clone()).expect("a commit");
            }
        }
        assert_eq!(entries(&*driver), entries(&*oracle), "{name}");
        let mut clear = Batch::new();
        clear.delete_range(KeyRange::all());
        oracle.commit(clear).expect("it is cleared");
    }
    let log = server.process().log();
    assert!(log.matches("COPY").count() >= 4 + 3, "{log}");
}

#[test]
fn a_range_delete_is_reported_if_it_deleted_something() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let driver = open(&server.url(""));
    let version = put(&*driver, "ab", "1");
    let mut watch = driver.watch(KeyRange::all(), version).expect("a watch");
    let mut batch = Batch::new();
    batch.delete("a");
    batch.delete_range(KeyRange::prefix(b"a"));
    driver.commit(batch).expect("a commit");
    let range = Change::DeleteRange(KeyRange::prefix(b"a"));
    assert_eq!(next_changes(&mut *watch), [range]);
}

#[test]
fn commits_after_wrong_assumptions_are_correct() {
    const COMMITS: usize = 400;
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("");
    let drivers = [open(&url), open(&url)];
    let oracle = open("memory:");
    seed::run("commits on wrong guesses", |random| {
        for _ in 0..COMMITS {
            let batch = random_batch(&*oracle, random);
            let driver = &drivers[random.random_range(0..drivers.len())];
            let (done, expected) = (driver.commit(batch.clone()), oracle.commit(batch));
            let kind =
                |result: espalier_keyspace::Result<Committed>| result.err().map(|e| e.kind());
            assert_eq!(kind(done), kind(expected));
            let [found, expected] = [driver, &oracle].map(|driver| entries(&**driver));
            assert_eq!(found, expected);
        }
    });
}

/// A few operations on few keys, under preconditions of which most hold.
fn random_batch(oracle: &dyn Driver, random: &mut StdRng) -> Batch {
    let key = |random: &mut StdRng| format!("key {}", random.random_range(0..6));
    let mut batch = Batch::new();
    for _ in 0..random.random_range(0..3) {
        let key = key(random);
        let value = get(oracle, &key);
        batch.require(key, value.filter(|_| random.random_ratio(9, 10)));
    }
    for _ in 0..random.random_range(0..5) {
        let key = key(random);
        match random.random_range(0..10) {
            0..5 => batch.put(key, [random.random::<u8>()]),
            5..8 => batch.delete(key),
            8 => batch.delete_range(KeyRange::new(key, "key 4")),
            _ => batch.add(format!("counter of {key}"), 1),
        }
    }
    batch
}

/// Everything a driver holds.
fn entries(driver: &dyn Driver) -> Vec<(Vec<u8>, Vec<u8>)> {
    let snapshot = driver.snapshot().expect("a snapshot");
    let cursor = snapshot.scan(&KeyRange::all(), Direction::Forward);
    let mut cursor = cursor.expect("a scan");
    let mut entries = Vec::new();
    while let Some((key, value)) = cursor.next().expect("a step") {
        entries.push((key.to_vec(), value.to_vec()));
    }
    entries
}

#[test]
fn commits_of_other_processes_are_reported_soon() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("");
    let (one, other) = (open(&url), open(&url));
    let start = other.snapshot().expect("a snapshot").version();
    let mut watch = other.watch(KeyRange::all(), start).expect("a watch");
    put(&*one, "first", "");
    next_changes(&mut *watch);
    let mut waits: Vec<_> = (0..20)
        .map(|number: u8| {
            let key = number.to_string();
            let start = Instant::now();
            put(&*one, &key, "value");
            next_changes(&mut *watch);
            start.elapsed()
        })
        .collect();
    waits.sort();
    let median = waits[waits.len() / 2];
    assert!(median < Duration::from_secs(1), "{waits:?}");
}

/// A watch from before the start of the log reports a gap, and continues after it.
#[test]
fn a_pruned_log_is_a_gap() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("schema=cut");
    let (one, other) = (open(&url), open(&url));
    let start = other.snapshot().expect("a snapshot").version();
    put_often(&*one, 5);
    server.run("DELETE FROM cut.commits WHERE version < 5");
    let mut watch = other.watch(KeyRange::all(), start).expect("a watch");
    let gap = watch.next(Duration::from_secs(20)).expect("a watch");
    let version = Version(4);
    assert_eq!(gap, Some(WatchEvent::Gap { version }));
    next_changes(&mut *watch);
    next_changes(&mut *watch);
    assert_eq!(watch.next(Duration::ZERO).expect("a watch"), None);
}

#[test]
fn the_log_is_bounded() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let driver = open(&server.url("schema=bounded&durability=relaxed"));
    let most = espalier_drivers::postgres::LOG_COMMITS_MAX;
    server.run(&format!("UPDATE bounded.state SET version = {}", 4 * most));
    put_often(&*driver, 300);
    server.run(&format!(
        "UPDATE bounded.state SET version = {}",
        6 * most - 10
    ));
    put_often(&*driver, 20);
    assert_eq!(server.run("SELECT count(*) < 30 FROM bounded.commits"), "t");
}

/// Counts in threads while `fault` runs once per round. Expects every acknowledged commit to be applied exactly once,
/// and no other.
fn count_while(url: &str, rounds: u32, fault: &dyn Fn(u32)) {
    let driver = open(url);
    let (done, acknowledged) = (AtomicBool::new(false), AtomicI64::new(0));
    let refused = AtomicI64::new(0);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (driver, done) = (&driver, &done);
            let (acknowledged, refused) = (&acknowledged, &refused);
            scope.spawn(move || {
                for number in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut batch = Batch::new();
                    batch.add("count", 1);
                    batch.put(format!("{thread} {number}"), "value");
                    match driver.commit(batch) {
                        Ok(_) => acknowledged.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                            refused.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
        (0..rounds).for_each(fault);
        done.store(true, Ordering::Relaxed);
    });
    let acknowledged = acknowledged.into_inner();
    println!(
        "{acknowledged} acknowledged, {} refused",
        refused.into_inner()
    );
    assert!(acknowledged > 0);
    let driver = open(url);
    assert_eq!(
        get(&*driver, "count"),
        Some(counter::encode(acknowledged).to_vec())
    );
    let keys = driver.usage().expect("usage").keys;
    assert_eq!(keys, acknowledged.unsigned_abs() + 1, "half a batch");
    assert_eq!(driver.check().expect("a check"), []);
}

#[test]
fn a_killed_server_loses_nothing() {
    let Some(server) = Postgres::start(&[]) else {
        return;
    };
    count_while(&server.url(""), 4, &|_| {
        thread::sleep(Duration::from_millis(250));
        // Like `pg_ctl stop -m immediate`.
        server.restart(Signal::Quit);
    });
}

#[test]
fn connections_that_the_server_terminates() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("application_name=ended");
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE application_name = 'ended'";
    count_while(&url, 30, &|_| {
        thread::sleep(Duration::from_millis(30));
        server.run(end);
    });
}

#[test]
fn connections_that_are_cut() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    seed::run("connections that are cut", |random| {
        let proxy = Proxy::start(server.port());
        let ports = [server.port(), proxy.port()].map(|port| format!(":{port}/"));
        let through = server.url("sslmode=disable").replace(&ports[0], &ports[1]);
        let pauses: [u64; 60] = std::array::from_fn(|_| random.random_range(0..40_000));
        count_while(&through, 60, &|round| {
            thread::sleep(Duration::from_micros(pauses[round as usize]));
            if round % 2 == 0 {
                proxy.lose_answers();
                thread::sleep(Duration::from_millis(1));
            }
            proxy.cut_after_requests();
        });
    });
}

/// With more readers than connections are kept, each read opened a connection and closed it.
#[test]
fn many_readers_share_the_connections_that_are_kept() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let driver = open(&server.url(""));
    put(&*driver, "key", "value");
    let opened = || -> u64 {
        let sessions = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()";
        server.run(sessions).parse().expect("a number")
    };
    let before = opened();
    thread::scope(|scope| {
        for _ in 0..48 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert!(get(&*driver, "key").is_some());
                }
            });
        }
    });
    let opened = opened() - before;
    assert!(opened < 400, "{opened} connections for 4,800 reads");
}

/// A process that is suspended in the middle of a write holds the lock; the server ends its transaction.
#[test]
fn a_suspended_process_does_not_block_the_others() {
    let Some(server) = Postgres::shared() else {
        return;
    };
    let driver = open(&server.url("schema=halted"));
    // An idle transaction with the lock stands for such a process.
    let mut psql = std::process::Command::new("psql");
    psql.args(["-X", "-q"]).arg(server.base());
    psql.stdin(std::process::Stdio::piped());
    psql.stdout(std::process::Stdio::null());
    let mut halted = psql.spawn().expect("psql starts");
    let mut input = halted.stdin.take().expect("its input");
    writeln!(
        input,
        "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 1000; \
         SELECT version FROM halted.state FOR UPDATE;"
    )
    .expect("psql reads its input");
    let locked = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' \
                  AND query LIKE '%halted.state FOR UPDATE%'";
    while server.run(locked) != "1" {
        thread::sleep(Duration::from_millis(10));
    }
    let start = Instant::now();
    put(&*driver, "key", "value");
    assert!(start.elapsed() < Duration::from_secs(45));
    drop(input);
    let _ = halted.wait();
}

/// A watch reports an outage, and all commits after it.
#[test]
fn a_watch_continues_after_an_outage() {
    let Some(server) = Postgres::start(&["fsync=off"]) else {
        return;
    };
    let url = server.url("");
    let driver = open(&url);
    let start = driver.snapshot().expect("a snapshot").version();
    let mut watch = driver.watch(KeyRange::all(), start).expect("a watch");
    put(&*driver, "before", "");
    next_changes(&mut *watch);
    server.process().stop(Signal::Interrupt);
    let outage = (0..50).find_map(|_| watch.next(Duration::from_millis(100)).err());
    let outage = outage.expect("the outage is reported");
    assert_eq!(outage.kind(), ErrorKind::Unavailable);
    let refused = driver.snapshot().err().expect("the server is gone");
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    server.start_again();
    let other = open(&url);
    put(&*other, "after", "");
    let event = loop {
        // The outage may be reported again.
        if let Ok(event) = watch.next(Duration::from_secs(5)) {
            break event;
        }
    };
    assert!(
        matches!(event, Some(WatchEvent::Commit { .. })),
        "{event:?}"
    );
    assert!(get(&*driver, "after").is_some());
}

/// Measures a commit of one entry, compared with a bare statement of the same client.
#[test]
#[ignore = "a measurement; run it alone, with --nocapture"]
fn the_cost_of_a_commit() {
    const ROUNDS: u32 = 2000;
    let Some(server) = Postgres::start(&[]) else {
        return;
    };
    let driver = open(&server.url("schema=cost"));
    put(&*driver, "key", "value");
    let timed = |name: &str, act: &mut dyn FnMut(u32)| {
        let start = Instant::now();
        (0..ROUNDS).for_each(act);
        println!("{name}: {:?}", start.elapsed() / ROUNDS);
    };
    timed("commit of one entry", &mut |number| {
        put(&*driver, &format!("key {}", number % 100), "value");
    });
    timed("snapshot and get", &mut |_| drop(get(&*driver, "key")));
    let snapshot = driver.snapshot().expect("a snapshot");
    timed("get", &mut |_| drop(snapshot.get(b"key").expect("a get")));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let base = server.base();
    let (client, connection) = runtime
        .block_on(tokio_postgres::connect(&base, tokio_postgres::NoTls))
        .expect("a connection");
    runtime.spawn(async { drop(connection.await) });
    let text = "INSERT INTO cost.entries (key, value) VALUES ($1, $2) \
                ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    let statement = runtime.block_on(client.prepare(text)).expect("prepared");
    timed("bare upsert", &mut |number| {
        let key = format!("key {}", number % 100).into_bytes();
        let value = b"value".to_vec();
        let put = runtime.block_on(client.execute(&statement, &[&key, &value]));
        assert_eq!(put.expect("an upsert"), 1);
    });
    let start = Instant::now();
    let mut batch = Batch::new();
    (0..100_000u32).for_each(|number| batch.put(number.to_be_bytes(), vec![7; 64]));
    driver.commit(batch).expect("a large batch");
    println!("100,000 entries in one batch: {:?}", start.elapsed());
}
