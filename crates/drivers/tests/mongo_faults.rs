//! The MongoDB driver when its server, its connections or its process are hurt.
#![cfg(feature = "mongo")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Driver, Error, ErrorKind, KeyRange, WatchEvent};
use espalier_testkit::adding::{SumWatch, add_while};
use espalier_testkit::servers::{Mongo, Proxy, Signal, free_port};
use espalier_testkit::{crash, process, seed};
use rand::Rng;

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the server is there")
}

#[track_caller]
fn refused(url: &str) -> Error {
    match espalier_drivers::open(url) {
        Ok(_) => panic!("{url} opens"),
        Err(error) => error,
    }
}

fn put(driver: &dyn Driver, key: &str, value: &str) {
    let mut batch = Batch::new();
    batch.put(key, value);
    driver.commit(batch).expect("a put");
}

fn get(driver: &dyn Driver, key: &str) -> Option<String> {
    let snapshot = driver.snapshot().expect("a snapshot");
    let value = snapshot.get(key.as_bytes()).expect("a get");
    value.map(|value| String::from_utf8_lossy(&value).into_owned())
}

/// The name of the database in a URL.
fn database(url: &str) -> &str {
    let (_, rest) = url.rsplit_once('/').expect("a path");
    rest.split('?').next().expect("a name")
}

#[test]
fn a_killed_server_keeps_what_it_acknowledged() {
    let Some(mongo) = Mongo::start() else { return };
    let driver = open(&mongo.url("timeout_ms=60000"));
    add_while(&*driver, || {
        for signal in [Signal::Kill, Signal::Terminate, Signal::Kill] {
            thread::sleep(Duration::from_millis(500));
            mongo.restart(signal);
        }
        thread::sleep(Duration::from_millis(500));
    });
}

#[test]
fn a_halted_server_is_waited_for() {
    let Some(mongo) = Mongo::start() else { return };
    let driver = open(&mongo.url("timeout_ms=30000"));
    add_while(&*driver, || {
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(300));
            mongo.process().signal(Signal::Pause);
            thread::sleep(Duration::from_millis(1500));
            mongo.process().signal(Signal::Continue);
        }
        thread::sleep(Duration::from_millis(300));
    });
}

#[test]
fn cut_connections_lose_nothing_and_repeat_nothing() {
    let Some(mongo) = Mongo::shared() else { return };
    let proxy = Proxy::start(mongo.port());
    let url = mongo.url("timeout_ms=30000");
    let url = url.replace(
        &format!(":{}/", mongo.port()),
        &format!(":{}/", proxy.port()),
    );
    let driver = open(&url);
    let mut watch = SumWatch::start(&*driver);
    seed::run("cut connections", |random| {
        add_while(&*driver, || {
            for _ in 0..20 {
                thread::sleep(Duration::from_micros(random.random_range(0..100_000)));
                proxy.cut();
            }
            thread::sleep(Duration::from_millis(500));
        });
    });
    watch.assert_all_told(&*driver);
}

#[test]
fn the_part_that_is_killed() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

#[test]
fn a_killed_process_leaves_whole_batches() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("timeout_ms=60000");
    crash::run("the_part_that_is_killed", &url, &|| open(&url));
}

#[test]
fn two_drivers_follow_each_other() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("");
    let (one, two) = (open(&url), open(&url));
    let start = one.snapshot().expect("a snapshot").version();
    let mut watch = two.watch(KeyRange::all(), start).expect("a watch");
    for number in 0..10 {
        let (from, to) = if number % 2 == 0 {
            (&one, &two)
        } else {
            (&two, &one)
        };
        let value = number.to_string();
        put(&**from, "key", &value);
        assert_eq!(get(&**to, "key"), Some(value));
        let told = watch.next(Duration::from_secs(20)).expect("a watch");
        assert!(matches!(told, Some(WatchEvent::Commit { .. })), "{told:?}");
    }
}

/// Old versions are deleted after their time, by commits; a snapshot that needs them is refused,
/// and what stays is whole.
#[test]
fn old_versions_are_kept_for_their_time() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000");
    let (driver, other) = (open(&url), open(&url));
    let versions = || {
        let count = r#"{"count": "espalier.data"}"#;
        mongo.run(database(&url), count)["n"]
            .as_i64()
            .expect("a number")
    };
    (0..20).for_each(|number| put(&*driver, "key", &number.to_string()));
    put(&*driver, "other", "value");
    let old = other.snapshot().expect("a snapshot");
    thread::sleep(Duration::from_millis(1200));
    for number in 20..24 {
        put(&*driver, "key", &number.to_string());
        thread::sleep(Duration::from_millis(600));
    }
    put(&*driver, "key", "the last");
    assert!(versions() < 8, "{} versions", versions());
    let error = old.get(b"key").expect_err("it is not kept");
    assert_eq!(error.kind(), ErrorKind::SnapshotTooOld, "{error}");
    assert_eq!(get(&*other, "key").as_deref(), Some("the last"));
    assert_eq!(get(&*other, "other").as_deref(), Some("value"));
    assert_eq!(get(&*open(&url), "key").as_deref(), Some("the last"));
    assert_eq!(driver.check().expect("a check"), []);
}

/// A process dies after it has given what it replaces its end: others see what was before, and finish
/// it before they decide anything on it.
#[test]
fn what_is_half_applied_is_not_half_seen() {
    let Some(mongo) = Mongo::start() else { return };
    let url = mongo.url("");
    let (one, other) = (open(&url), open(&url));
    put(&*one, "k", "same");
    put(&*other, "k", "same");
    let last = |name: &str| mongo.documents(database(&url), name).pop().expect("one");
    let commit = last("espalier.commits");
    let transaction = commit.get_str("transaction").expect("a name");
    let id = last("espalier.versions");
    let id = id.get_str("_id").expect("a revision");
    let command = format!(
        r#"{{"delete": "espalier.versions", "deletes": [{{"q": {{"_id": "{id}"}}, "limit": 1}}]}}"#
    );
    mongo.run(database(&url), &command);
    let versions = mongo.documents(database(&url), "espalier.data");
    let mut ids = versions
        .iter()
        .filter_map(|version| version.get_str("_id").ok());
    let made = ids.rfind(|id| id.ends_with(transaction));
    let (made, set) = (
        made.expect("a version"),
        format!(r#""pending": "{transaction}""#),
    );
    let command = format!(
        r#"{{"update": "espalier.data", "updates": [{{"q": {{"_id": "{made}"}}, "u": {{"$set": {{{set}}}}}}}]}}"#
    );
    mongo.run(database(&url), &command);
    assert_eq!(get(&*one, "k").as_deref(), Some("same"));
    let mut batch = Batch::new();
    batch.require("k", Some(b"same".to_vec()));
    batch.put("k", "other");
    one.commit(batch).expect("it was never anything else");
    assert_eq!(get(&*one, "k").as_deref(), Some("other"));
    assert_eq!(one.check().expect("checked"), []);
}

/// A key space of an older program, which had no such index.
#[test]
fn the_index_that_reads_go_by_is_made_where_it_is_missing() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("");
    put(&*open(&url), "k", "v");
    let drop = r#"{"dropIndexes": "espalier.data", "index": "live"}"#;
    mongo.run(database(&url), drop);
    assert_eq!(get(&*open(&url), "k").as_deref(), Some("v"));
    let listed = mongo.run(database(&url), r#"{"listIndexes": "espalier.data"}"#);
    assert!(listed.to_string().contains(r#""live""#), "{listed}");
}

/// A process that was halted puts its commit into a place of the chain whose commit was deleted
/// meanwhile, and takes it away again when it sees that. A watcher who comes by is told of a gap.
#[test]
fn a_late_commit_in_a_deleted_place_is_not_told() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000");
    let (driver, other) = (open(&url), open(&url));
    put(&*driver, "key", "first");
    let start = other.snapshot().expect("a snapshot").version();
    let mut watch = other.watch(KeyRange::all(), start).expect("a watch");
    put(&*driver, "key", "true");
    put(&*driver, "key", "late");
    let mut commits = mongo.documents(database(&url), "espalier.commits");
    let (late, deleted) = (commits.pop(), commits.pop());
    let (mut late, deleted) = late.zip(deleted).expect("two commits");
    thread::sleep(Duration::from_millis(1200));
    for number in 0..4 {
        put(&*driver, "key", &number.to_string());
        thread::sleep(Duration::from_millis(600));
    }
    late.insert("_id", deleted.get("_id").cloned());
    mongo.insert(database(&url), "espalier.commits", late);
    let told = watch.next(Duration::from_secs(20)).expect("a watch");
    assert!(matches!(told, Some(WatchEvent::Gap { .. })), "{told:?}");
}

#[test]
fn an_absent_server_is_named() {
    let port = free_port();
    let error = refused(&format!("mongodb://127.0.0.1:{port}/?timeout_ms=200"));
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[test]
fn another_format_is_refused_and_left_alone() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("");
    put(&*open(&url), "key", "value");
    let set = |format: i32| {
        let update = format!(
            r#"{{"update": "espalier.state", "updates": [
                {{"q": {{"_id": "format"}}, "u": {{"$set": {{"format": {format}}}}}}}]}}"#
        );
        mongo.run(database(&url), &update);
    };
    set(7);
    let error = refused(&url);
    assert_eq!(error.kind(), ErrorKind::WrongVersion, "{error}");
    assert!(error.to_string().contains("format 7"), "{error}");
    set(1);
    assert_eq!(get(&*open(&url), "key").as_deref(), Some("value"));
}

#[test]
fn a_deleted_key_space_is_noticed() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000");
    let driver = open(&url);
    put(&*driver, "key", "value");
    mongo.run(database(&url), r#"{"dropDatabase": 1}"#);
    thread::sleep(Duration::from_millis(600));
    let error = driver.snapshot().err().expect("nothing is there");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
