//! The MongoDB driver when its server, its connections or its process fail.
#![cfg(feature = "mongo")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Driver, Error, ErrorKind, KeyRange, WatchEvent};
use espalier_testkit::disk::mounted;
use espalier_testkit::servers::{Mongo, Proxy, ReplicaSet, Signal, free_port};
use espalier_testkit::threads_on_counter::{SumWatch, add_while, sum};
use espalier_testkit::{crash, process, seed};
use mongodb::bson::{Binary, spec};
use rand::Rng;

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the server is there")
}

#[track_caller]
fn open_error(url: &str) -> Error {
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

#[test]
fn a_killed_server_keeps_acknowledged_commits() {
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
fn commits_wait_for_a_paused_server() {
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
fn commits_are_applied_exactly_once_when_connections_are_cut() {
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
fn child_that_is_killed() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

#[test]
fn a_killed_process_leaves_complete_batches() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("timeout_ms=60000");
    crash::run("child_that_is_killed", &url, &|| open(&url));
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
        let event = watch.next(Duration::from_secs(20)).expect("a watch");
        assert!(
            matches!(event, Some(WatchEvent::Commit { .. })),
            "{event:?}"
        );
    }
}

/// A value that is too long for a short tail, so that its commit writes a tree.
fn long(number: u32) -> String {
    format!("{number:>1500}")
}

/// Commits delete old versions after `keep_ms`. A snapshot that needs them fails, and newer versions stay complete.
#[test]
fn old_versions_are_deleted_after_keep_ms() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000&tail_bytes=1024");
    let (driver, other) = (open(&url), open(&url));
    let count = |name: &str| mongo.documents(Mongo::database(&url), name).len();
    (0..20).for_each(|number| put(&*driver, "key", &long(number)));
    put(&*driver, "other", "value");
    let old = other.snapshot().expect("a snapshot");
    thread::sleep(Duration::from_millis(1200));
    for number in 20..24 {
        put(&*driver, "key", &long(number));
        thread::sleep(Duration::from_millis(600));
    }
    put(&*driver, "key", &long(24));
    for name in ["espalier.pages", "espalier.commits", "espalier.drafts"] {
        assert!(count(name) < 8, "{} of {name}", count(name));
    }
    let error = old.get(b"key").expect_err("it is not kept");
    assert_eq!(error.kind(), ErrorKind::SnapshotTooOld, "{error}");
    for driver in [&other, &open(&url)] {
        assert_eq!(get(&**driver, "key"), Some(long(24)));
        assert_eq!(get(&**driver, "other").as_deref(), Some("value"));
    }
    assert_eq!(driver.check().expect("a check"), []);
}

/// Processes crash after they have written pages, with and without the commit of these pages.
#[test]
fn exactly_the_unreferenced_pages_are_deleted() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000&tail_bytes=1024");
    let driver = open(&url);
    let names = |collection: &str| -> Vec<String> {
        let found = mongo.documents(Mongo::database(&url), collection);
        let names = found.iter().filter_map(|page| page.get_str("_id").ok());
        names.map(str::to_owned).collect()
    };
    put(&*driver, "a", &long(0));
    let made = names("espalier.drafts").pop().expect("a draft");
    let version = made.get(..8).expect("a version");
    let insert = |collection: &str, name: &str| {
        let mut page = mongo
            .documents(Mongo::database(&url), "espalier.pages")
            .remove(0);
        page.insert("_id", name);
        mongo.insert(Mongo::database(&url), collection, page);
    };
    // One transaction lost the race for the same version, and one with the next version never commits.
    let (refused, lost) = (
        format!("{version}------"),
        format!("{:.7}{}------", version, "1"),
    );
    for transaction in [&refused, &lost] {
        insert("espalier.drafts", transaction);
        insert("espalier.pages", &format!("{transaction}----"));
    }
    for number in 0..6 {
        thread::sleep(Duration::from_millis(400));
        put(&*driver, "b", &long(number));
    }
    let pages = names("espalier.pages");
    assert!(
        !pages.iter().any(|page| page.starts_with(&refused)),
        "{pages:?}"
    );
    assert!(pages.len() < 10, "{pages:?}");
    assert_eq!(get(&*open(&url), "a"), Some(long(0)));
    // A process that was suspended inserts its draft after its version has been committed and deleted.
    let late = format!("{version}zzzzzz");
    insert("espalier.drafts", &late);
    insert("espalier.pages", &format!("{late}----"));
    for number in 0..4 {
        thread::sleep(Duration::from_millis(400));
        put(&*driver, "b", &long(number));
    }
    let pages = names("espalier.pages");
    assert!(
        !pages.iter().any(|page| page.starts_with(&late)),
        "{pages:?}"
    );
    assert_eq!(get(&*open(&url), "a"), Some(long(0)));
    assert_eq!(driver.check().expect("a check"), []);
}

/// A commit that takes long to prepare succeeds while another process commits continuously.
#[test]
fn a_large_commit_gets_its_turn() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("page_bytes=1024&timeout_ms=60000");
    let (large, steady) = (open(&url), open(&url));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut commits = 0;
            while !is_done.load(Ordering::Acquire) {
                put(&*steady, "steady", &commits.to_string());
                commits += 1;
            }
            commits
        });
        for _ in 0..3 {
            let mut batch = Batch::new();
            (0..20_000_u32).for_each(|key| batch.put(key.to_be_bytes(), vec![b'v'; 20]));
            large.commit(batch).expect("its turn");
        }
        is_done.store(true, Ordering::Release);
        let last = writer.join().expect("a writer") - 1;
        assert_eq!(get(&*large, "steady"), Some(last.to_string()));
    });
    assert_eq!(steady.usage().expect("a count").keys, 20_001);
    assert_eq!(large.check().expect("a check"), []);
}

/// A turn of a crashed process expires. A process with a shorter timeout still waits for it.
#[test]
fn an_unused_turn_expires() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("timeout_ms=1000");
    let (driver, other) = (open(&url), open(&url));
    put(&*driver, "key", "value");
    let mut commits = mongo.documents(Mongo::database(&url), "espalier.commits");
    let mut turn = commits.remove(0);
    // An empty field of uncompressed bytes.
    let nothing = Binary {
        subtype: spec::BinarySubtype::Generic,
        bytes: vec![0],
    };
    let follows = turn.get("transaction").cloned();
    turn.insert("_id", "-------1");
    turn.insert("follows", follows);
    turn.insert("transaction", "-------1------");
    turn.insert("turn_ms", 2500_i64);
    turn.insert("changes", nothing);
    mongo.insert(Mongo::database(&url), "espalier.commits", turn);
    let begun = Instant::now();
    put(&*other, "key", "next");
    assert!(begun.elapsed() >= Duration::from_millis(2500));
    assert_eq!(get(&*driver, "key").as_deref(), Some("next"));
}

/// A missing commit, or one that does not follow the one before it, is reported as damage.
#[test]
fn a_lost_commit_is_detected() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("");
    let driver = open(&url);
    (0..3).for_each(|number| put(&*driver, "key", &number.to_string()));
    let commits = mongo.documents(Mongo::database(&url), "espalier.commits");
    let delete = |at: usize| {
        let id = commits[at].get_str("_id").expect("a version");
        let command = format!(
            r#"{{"delete": "espalier.commits", "deletes": [{{"q": {{"_id": "{id}"}}, "limit": 1}}]}}"#
        );
        mongo.run(Mongo::database(&url), &command);
    };
    delete(2);
    let other = open(&url);
    assert_eq!(get(&*other, "key").as_deref(), Some("1"));
    put(&*other, "key", "another");
    put(&*other, "key", "more");
    let error = driver.snapshot().err().expect("it follows another one");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    delete(1);
    let error = open_error(&url);
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

/// All processes use the `keep_ms` that the key space was created with.
#[test]
fn keep_ms_is_stored_in_the_key_space() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=60000&tail_bytes=1024");
    put(&*open(&url), "key", &long(0));
    let driver = open(&url.replace("keep_ms=60000", "keep_ms=1000"));
    let old = driver.snapshot().expect("a snapshot");
    for number in 1..5 {
        put(&*driver, "key", &long(number));
        thread::sleep(Duration::from_millis(600));
    }
    let kept = open(&url).snapshot().expect("a snapshot").version();
    assert_eq!(
        mongo
            .documents(Mongo::database(&url), "espalier.commits")
            .len() as u64,
        kept.0
    );
    let value = old.get(b"key").expect("it is kept");
    assert_eq!(value.as_deref(), Some(long(0).as_bytes()));
}

/// A process that was suspended inserts its commit under a version whose commit was deleted, before it detects that
/// and withdraws it. A watch in between reports a gap.
#[test]
fn a_late_commit_under_a_deleted_version_is_not_reported() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000&tail_bytes=1024");
    let (driver, other) = (open(&url), open(&url));
    put(&*driver, "key", "first");
    let start = other.snapshot().expect("a snapshot").version();
    let mut watch = other.watch(KeyRange::all(), start).expect("a watch");
    put(&*driver, "key", "true");
    put(&*driver, "key", "late");
    let mut commits = mongo.documents(Mongo::database(&url), "espalier.commits");
    let (late, deleted) = (commits.pop(), commits.pop());
    let (mut late, deleted) = late.zip(deleted).expect("two commits");
    thread::sleep(Duration::from_millis(1200));
    for number in 0..4 {
        put(&*driver, "key", &long(number));
        thread::sleep(Duration::from_millis(600));
    }
    late.insert("_id", deleted.get("_id").cloned());
    // It claims to have freed all pages of the newest tree.
    let pages = mongo.documents(Mongo::database(&url), "espalier.pages");
    let pages = pages.iter().filter_map(|page| page.get_str("_id").ok());
    late.insert("freed", pages.collect::<String>());
    mongo.insert(Mongo::database(&url), "espalier.commits", late);
    let event = watch.next(Duration::from_secs(20)).expect("a watch");
    assert!(matches!(event, Some(WatchEvent::Gap { .. })), "{event:?}");
    for _ in 0..4 {
        thread::sleep(Duration::from_millis(600));
        put(&*driver, "other", "value");
    }
    assert_eq!(get(&*open(&url), "key"), Some(long(3)));
    assert_eq!(open(&url).check().expect("a check"), []);
}

/// A process is suspended between a read and a write, for longer than old versions are kept.
#[test]
fn a_process_that_was_suspended_does_not_use_stale_data() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000&tail_bytes=1024");
    let (driver, suspended) = (open(&url), open(&url));
    put(&*suspended, "key", "first");
    for number in 0..4 {
        thread::sleep(Duration::from_millis(600));
        put(&*driver, "key", &long(number));
    }
    let mut batch = Batch::new();
    batch.require("key", Some(b"first".to_vec()));
    batch.put("key", "wrong");
    let error = suspended.commit(batch).expect_err("another value");
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    put(&*suspended, "other", "value");
    assert_eq!(get(&*driver, "key"), Some(long(3)));
    assert_eq!(get(&*driver, "other").as_deref(), Some("value"));
}

/// The response to a commit is lost, and its outcome is checked after other processes have deleted the commits that
/// followed it. It is applied exactly once, and its data exists, whatever the result.
#[test]
fn a_commit_with_a_late_response_is_applied_once() {
    let Some(mongo) = Mongo::shared() else { return };
    for value in ["short".to_owned(), long(0)] {
        let proxy = Proxy::start(mongo.port());
        let url = mongo.url("keep_ms=1000&tail_bytes=1024&timeout_ms=20000");
        let through = url.replace(
            &format!(":{}/", mongo.port()),
            &format!(":{}/", proxy.port()),
        );
        let (late, other) = (open(&through), open(&url));
        put(&*late, "before", "value");
        let committed = thread::scope(|scope| {
            proxy.lose_answers();
            let committed = scope.spawn(|| {
                let mut batch = Batch::new();
                batch.add("sum", 1);
                batch.put("made", value.as_str());
                late.commit(batch)
            });
            for number in 0..5 {
                thread::sleep(Duration::from_millis(600));
                put(&*other, "other", &long(number));
            }
            proxy.cut_after_requests();
            committed.join().expect("a commit")
        });
        if let Err(error) = &committed {
            assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
        }
        let snapshot = other.snapshot().expect("a snapshot");
        let sum = snapshot.get(b"sum").expect("a get");
        assert_eq!(
            sum.as_deref(),
            Some(&1_i64.to_le_bytes()[..]),
            "{committed:?}"
        );
        assert_eq!(get(&*other, "made"), Some(value));
        assert_eq!(get(&*other, "other"), Some(long(4)));
        assert_eq!(get(&*late, "other"), Some(long(4)));
        assert_eq!(other.check().expect("a check"), []);
    }
}

/// A new primary does not know at once which of its data is on a majority, but returns all commits nevertheless.
#[test]
fn a_new_primary_returns_all_commits() {
    const ROUNDS: usize = 8;
    let Some(set) = ReplicaSet::start(3) else {
        return;
    };
    let url = set.url("timeout_ms=30000&page_bytes=256&tail_bytes=1024");
    let (driver, other) = (open(&url), open(&url));
    for number in 0..ROUNDS {
        let mut batch = Batch::new();
        (0..200_u32).for_each(|key| batch.put(format!("{key}"), format!("{number} of {key}")));
        driver.commit(batch).expect("a commit");
        match number % 2 {
            0 => set.step_down(),
            _ => set.primary().restart(Signal::Kill),
        }
        set.primary();
        for reader in [&other, &open(&url)] {
            for key in [0, 77, 199] {
                let expected = format!("{number} of {key}");
                assert_eq!(get(&**reader, &key.to_string()), Some(expected));
            }
        }
    }
    assert_eq!(other.check().expect("a check"), []);
}

/// How long a commit may take if no server is reached, with a timeout of three seconds: it took 200, in which it tried to
/// delete its pages.
const PATIENCE: Duration = Duration::from_secs(60);

/// MongoDB exits if it cannot write: acknowledged commits exist when there is space again.
#[test]
fn a_full_disk_loses_nothing() {
    // A server that starts writes what its log has, for which 20 MiB are sometimes not enough.
    mounted("size=120m", |dir| {
        let filler = dir.join("filler");
        std::fs::write(&filler, vec![0; 60 << 20]).expect("there is space");
        let Some(mongo) = Mongo::start_in(dir) else {
            return;
        };
        let url = mongo.url("timeout_ms=3000");
        let driver = open(&url);
        // Incompressible.
        let mut bytes = vec![0; 300_000];
        rand::rng().fill(&mut bytes[..]);
        let put = |number: i64| {
            let mut batch = Batch::new();
            batch.add("sum", 1);
            batch.put(number.to_be_bytes(), bytes.as_slice());
            driver.commit(batch)
        };
        let results = (0..1000).map(|number| (number, put(number)));
        let mut failed = results.filter_map(|(number, result)| Some((number, result.err()?)));
        let (acknowledged, error) = failed.next().expect("it is full");
        // It may still report that the disk is full, before it exits.
        let expected = [
            ErrorKind::OutcomeUnknown,
            ErrorKind::Unavailable,
            ErrorKind::Full,
        ];
        assert!(
            expected.contains(&error.kind()),
            "{:?}: {error}",
            error.kind()
        );
        let start = Instant::now();
        let error = put(acknowledged).expect_err("the server is down");
        let expected = [ErrorKind::Unavailable, ErrorKind::Full];
        assert!(
            expected.contains(&error.kind()),
            "{:?}: {error}",
            error.kind()
        );
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        std::fs::remove_file(&filler).expect("there is space again");
        mongo.restart(Signal::Kill);
        let sum = sum(&*driver);
        assert!((acknowledged..=acknowledged + 1).contains(&sum), "{sum}");
        put(1000).expect("there is space");
        assert_eq!(driver.usage().expect("usage").keys as i64, sum + 2);
        assert_eq!(driver.check().expect("a check"), []);
    });
}

#[test]
fn the_error_names_an_unreachable_server() {
    let port = free_port();
    let error = open_error(&format!("mongodb://127.0.0.1:{port}/?timeout_ms=200"));
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[test]
fn another_format_is_rejected_and_left_unchanged() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("");
    put(&*open(&url), "key", "value");
    let set = |format: i32| {
        let update = format!(
            r#"{{"update": "espalier.state", "updates": [
                {{"q": {{"_id": "format"}}, "u": {{"$set": {{"format": {format}}}}}}}]}}"#
        );
        mongo.run(Mongo::database(&url), &update);
    };
    for (format, advice) in [
        (7, "use a newer version"),
        (1, "with the program that wrote it"),
        (2, "with the program that wrote it"),
    ] {
        set(format);
        let error = open_error(&url);
        assert_eq!(error.kind(), ErrorKind::WrongVersion, "{error}");
        let named = format!("format {format}");
        assert!(error.to_string().contains(&named), "{error}");
        assert!(error.to_string().contains(advice), "{error}");
    }
    set(3);
    assert_eq!(get(&*open(&url), "key").as_deref(), Some("value"));
}

#[test]
fn a_deleted_key_space_is_detected() {
    let Some(mongo) = Mongo::shared() else { return };
    let url = mongo.url("keep_ms=1000");
    let driver = open(&url);
    put(&*driver, "key", "value");
    mongo.run(Mongo::database(&url), r#"{"dropDatabase": 1}"#);
    thread::sleep(Duration::from_millis(600));
    let error = driver.snapshot().err().expect("nothing is there");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
