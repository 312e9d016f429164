//! The Redis driver when its server, its connections or its process fail.
#![cfg(feature = "redis")]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_drivers::redis::LOG_COMMITS_MAX;
use espalier_drivers::{EffectiveDurability, effective_durability};
use espalier_keyspace::{
    Batch, Change, Direction, Driver, Error, ErrorKind, KeyRange, PrefetchList, Snapshot, Version,
    WatchEvent,
};
use espalier_testkit::disk::mounted;
use espalier_testkit::servers::{Proxy, Redis, Signal, wait_until};
use espalier_testkit::threads_on_counter::{SumWatch, add_while, sum};
use espalier_testkit::{crash, process, seed};
use rand::Rng;

const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

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

#[test]
fn a_killed_server_keeps_acknowledged_commits() {
    let Some(redis) = Redis::start(&DURABLE) else {
        return;
    };
    let driver = open(&redis.url("timeout_ms=30000"));
    add_while(&*driver, || {
        for signal in [Signal::Kill, Signal::Terminate, Signal::Kill] {
            thread::sleep(Duration::from_millis(300));
            redis.restart(signal);
        }
        thread::sleep(Duration::from_millis(300));
    });
}

#[test]
fn commits_wait_for_a_paused_server() {
    let Some(redis) = Redis::start(&DURABLE) else {
        return;
    };
    let driver = open(&redis.url("timeout_ms=1000"));
    add_while(&*driver, || {
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(200));
            redis.process().signal(Signal::Pause);
            thread::sleep(Duration::from_millis(1500));
            redis.process().signal(Signal::Continue);
        }
        thread::sleep(Duration::from_millis(200));
    });
}

#[test]
fn commits_are_applied_exactly_once_when_connections_are_cut() {
    let Some(redis) = Redis::shared() else { return };
    let proxy = Proxy::start(redis.port());
    let url = redis.url("durability=relaxed&timeout_ms=20000");
    let url = url.replace(
        &format!(":{}/", redis.port()),
        &format!(":{}/", proxy.port()),
    );
    let driver = open(&url);
    let mut watch = SumWatch::start(&*driver);
    seed::run("cut connections", |random| {
        add_while(&*driver, || {
            for _ in 0..60 {
                thread::sleep(Duration::from_micros(random.random_range(0..30_000)));
                proxy.cut();
            }
        });
    });
    // There may be more commits than the log keeps.
    watch.assert_told_or_gap(&*driver);
}

#[test]
fn child_that_is_killed() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

#[test]
fn a_killed_process_leaves_complete_batches() {
    let Some(redis) = Redis::start(&DURABLE) else {
        return;
    };
    let url = redis.url("");
    crash::run("child_that_is_killed", &url, &|| open(&url));
}

#[test]
fn a_snapshot_that_needs_too_much_undo_data_is_too_old() {
    let Some(redis) = Redis::shared() else { return };
    let driver = open(&redis.url("durability=relaxed&undo_bytes=10000"));
    let put = |value: u8| {
        let mut batch = Batch::new();
        batch.put("key", vec![value; 1000]);
        driver.commit(batch).expect("a put");
    };
    put(0);
    let old = driver.snapshot().expect("a snapshot");
    (1..30).for_each(put);
    let error = old.get(b"key").expect_err("it is not kept");
    assert_eq!(error.kind(), ErrorKind::SnapshotTooOld);
    assert!(error.is_retryable());
    let young = driver.snapshot().expect("a snapshot");
    put(30);
    let value = young.get(b"key").expect("it is kept").expect("a value");
    assert_eq!(value[0], 29);
}

/// The undo data of a large commit stays packed until a snapshot needs it, and is deleted in the end either way.
#[test]
fn undo_data_of_large_commits_is_deleted_completely() {
    let Some(redis) = Redis::start(&["--appendonly", "no"]) else {
        return;
    };
    let driver = open(&redis.url("durability=relaxed&undo_bytes=200000"));
    let commit = |round: u8| {
        let mut batch = Batch::new();
        (0..300u32).for_each(|number| batch.put(number.to_be_bytes(), [round]));
        driver.commit(batch).expect("a commit");
    };
    let count = |text: &str| -> u64 {
        let (command, name) = text.split_once(' ').expect("two words");
        let response = redis.command(&format!("{command} {{test0}}:{name}"));
        response.trim_start_matches(':').parse().expect("a number")
    };
    let round_of = |snapshot: &dyn Snapshot| {
        snapshot
            .get(&[0; 4])
            .map(|value| value.map(|value| value[0]))
    };
    commit(0);
    let first = driver.snapshot().expect("a snapshot");
    commit(1);
    assert_eq!((count("HLEN packed"), count("ZCARD undo")), (1, 0));
    assert_eq!(round_of(&*first).expect("it is kept"), Some(0));
    assert_eq!((count("ZCARD pending"), count("ZCARD undo")), (0, 300));
    (2..9).for_each(commit);
    let error = round_of(&*first).expect_err("it is not kept");
    assert_eq!(error.kind(), ErrorKind::SnapshotTooOld);
    assert_eq!((count("ZCARD undo"), count("HLEN before")), (0, 0));
    assert_eq!((count("HLEN packed"), count("ZCARD pending")), (2, 2));
    let last = driver.snapshot().expect("a snapshot");
    commit(9);
    assert_eq!(round_of(&*last).expect("it is kept"), Some(8));
    assert_eq!((count("HLEN before"), count("ZCARD pending")), (300, 1));
}

#[test]
fn a_server_that_is_not_durable_enough_is_rejected() {
    let Some(redis) = Redis::shared() else { return };
    let error = open_error(&redis.url("durability=durable"));
    assert!(error.to_string().contains("durability=relaxed"), "{error}");
    let durability_of =
        |redis: &Redis| effective_durability(&redis.url("durability=relaxed")).expect("an answer");
    let reason = "appendonly is no, appendfsync is everysec".to_owned();
    assert_eq!(
        durability_of(redis),
        EffectiveDurability::Relaxed(Some(reason))
    );
    let durable = Redis::start(&DURABLE).expect("there was one");
    assert_eq!(durability_of(&durable), EffectiveDurability::Durable);
}

#[test]
fn passwords_are_required_and_checked() {
    let Some(redis) = Redis::start(&["--requirepass", "secret"]) else {
        return;
    };
    let url = redis.url("durability=relaxed&timeout_ms=3000");
    let with = |user: &str| url.replace("://", &format!("://{user}@"));
    for wrong in [url.clone(), with(":wrong"), with("nobody:secret")] {
        assert_eq!(open_error(&wrong).kind(), ErrorKind::Denied, "{wrong}");
    }
    assert_eq!(open(&with(":secret")).usage().expect("usage").keys, 0);
}

#[test]
fn the_error_names_an_unreachable_server() {
    let port = espalier_testkit::servers::free_port();
    let error = open_error(&format!("redis://127.0.0.1:{port}/?timeout_ms=200"));
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let cause = "Connection refused (os error 111)";
    let message = format!("cannot reach the Redis server 127.0.0.1:{port}: {cause}");
    assert_eq!(error.to_string(), message);
}

/// The driver retried until the timeout, and then reported the server's response without advice.
#[test]
fn a_server_of_a_cluster_is_reported_as_such() {
    let cluster = ["--cluster-enabled", "yes"];
    let (Some(one), Some(other)) = (Redis::start(&cluster), Redis::start(&cluster)) else {
        return;
    };
    one.command("CLUSTER ADDSLOTSRANGE 0 8191");
    other.command("CLUSTER ADDSLOTSRANGE 8192 16383");
    one.command("CLUSTER SET-CONFIG-EPOCH 1");
    one.command(&format!("CLUSTER MEET 127.0.0.1 {}", other.port()));
    let serves = |redis: &Redis| match redis.command("GET a").starts_with("-CLUSTERDOWN") {
        true => Err("it is down".to_owned()),
        false => Ok(()),
    };
    for redis in [&one, &other] {
        wait_until(|| serves(redis)).expect("the Cluster serves");
    }
    let start = Instant::now();
    let moved = [&one, &other].map(|redis| {
        let url = format!("{}?durability=relaxed&prefix=x", redis.base());
        espalier_drivers::open(&url).map(drop)
    });
    let moved = moved
        .into_iter()
        .find_map(Result::err)
        .expect("one does not have the keys");
    let database = open_error(&one.base().replace("/0", "/3?durability=relaxed"));
    for error in [moved, database] {
        assert_eq!(error.kind(), ErrorKind::Engine, "{error}");
        assert!(error.to_string().contains("host:port,host:port"), "{error}");
    }
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
    open(&one.cluster_url("durability=relaxed"));
}

/// The client of a Cluster retried for ten minutes, independently of the timeout.
#[test]
fn a_cluster_that_is_down_is_reported_in_time() {
    let Some(redis) = Redis::start(&["--cluster-enabled", "yes"]) else {
        return;
    };
    let start = Instant::now();
    let error = open_error(&redis.cluster_url("durability=relaxed&timeout_ms=1000"));
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        start.elapsed() < Duration::from_secs(120),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn full_memory_changes_nothing() {
    let Some(redis) = Redis::start(&["--maxmemory", "8mb"]) else {
        return;
    };
    let url = redis.url("durability=relaxed&undo_bytes=1000");
    let driver = open(&url);
    let error = loop {
        let mut batch = Batch::new();
        batch.add("sum", 1);
        batch.put(sum(&*driver).to_be_bytes(), vec![7; 100_000]);
        if let Err(error) = driver.commit(batch) {
            break error;
        }
        assert!(sum(&*driver) < 1000, "nothing was ever full");
    };
    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    let keys = driver.usage().expect("usage").keys;
    assert_eq!(keys as i64, sum(&*driver) + 1);
    assert_eq!(driver.check().expect("a check"), []);
    // Opening and reading do not write.
    redis.command("SCRIPT FLUSH");
    assert_eq!(sum(&*open(&url)), sum(&*driver));
}

#[test]
fn a_server_that_evicts_keys_is_rejected() {
    let Some(redis) = Redis::start(&["--maxmemory", "80mb", "--maxmemory-policy", "allkeys-lru"])
    else {
        return;
    };
    let error = open_error(&redis.url("durability=relaxed"));
    assert!(error.to_string().contains("maxmemory-policy"), "{error}");
    redis.command("CONFIG SET maxmemory-policy noeviction");
    open(&redis.url("durability=relaxed"));
}

#[test]
fn an_incomplete_key_space_is_not_taken_for_an_empty_one() {
    let Some(redis) = Redis::start(&["--appendonly", "no"]) else {
        return;
    };
    let url = redis.url("durability=relaxed");
    let mut batch = Batch::new();
    batch.put("key", "value");
    open(&url).commit(batch).expect("committed");
    let (_, prefix) = url.split_once("prefix=").expect("a prefix");
    let (prefix, _) = prefix.split_once('&').expect("options");
    redis.command(&format!("DEL {{{prefix}}}:meta"));
    assert_eq!(open_error(&url).kind(), ErrorKind::Corrupt);
}

#[test]
fn a_replica_is_read_only() {
    let Some(redis) = Redis::start(&["--appendonly", "no"]) else {
        return;
    };
    let url = redis.url("durability=relaxed");
    let driver = open(&url);
    let port = espalier_testkit::servers::free_port();
    redis.command(&format!("REPLICAOF 127.0.0.1 {port}"));
    let mut batch = Batch::new();
    batch.put("key", "value");
    let error = driver.commit(batch).expect_err("a replica");
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
}

#[test]
fn a_deleted_key_space_is_detected() {
    let Some(redis) = Redis::start(&["--appendonly", "no"]) else {
        return;
    };
    let driver = open(&redis.url("durability=relaxed"));
    redis.command("FLUSHALL");
    assert_eq!(
        driver.snapshot().err().map(|error| error.kind()),
        Some(ErrorKind::Corrupt)
    );
    let mut batch = Batch::new();
    batch.put("key", "value");
    let error = driver.commit(batch).expect_err("nothing is there");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

/// The log has no changes of a batch that is too large for it. When such an entry was deleted, its size was subtracted
/// as -0 bytes, which Redis rejects: that commit was applied and failed.
#[test]
fn a_batch_that_is_too_large_for_the_log_is_deleted_from_it() {
    let Some(redis) = Redis::shared() else { return };
    let driver = open(&redis.url("durability=relaxed"));
    let put = |key: &[u8], value: Vec<u8>| {
        let mut batch = Batch::new();
        batch.put(key, value);
        driver.commit(batch).expect("a commit")
    };
    let mut large = Batch::new();
    for number in 0..16_u8 {
        large.put([b'l', number], vec![number; 1 << 20]);
    }
    driver.commit(large).expect("a large batch");
    for number in 0..=LOG_COMMITS_MAX as u64 {
        put(b"small", number.to_le_bytes().to_vec());
    }
    let held = driver.snapshot().expect("a snapshot");
    let held = held.get(b"small").expect("a value");
    let last = LOG_COMMITS_MAX as u64;
    assert_eq!(held.as_deref(), Some(last.to_le_bytes().as_slice()));
}

/// A snapshot has its expected rows in memory.
#[test]
fn expected_rows_are_read_without_the_server() {
    let Some(redis) = Redis::start(&[]) else {
        return;
    };
    let driver = open(&redis.url("durability=relaxed&timeout_ms=3000"));
    let mut batch = Batch::new();
    for key in ["a", "b1", "b2", "c", "d"] {
        batch.put(key, key);
    }
    driver.commit(batch).expect("a commit");
    let expect = |expected: &mut PrefetchList| {
        expected.key("a");
        expected.key("absent");
        expected.range(KeyRange::prefix(b"b"), 16);
    };
    let snapshot = driver.snapshot_with_prefetch(&expect).expect("a snapshot");
    let get = |key: &str| {
        let value = snapshot.get(key.as_bytes())?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    };
    let value = |value: Result<Option<String>, Error>| value.expect("a value");
    redis.process().stop(Signal::Kill);
    assert_eq!(value(get("a")).as_deref(), Some("a"));
    assert_eq!(value(get("absent")), None);
    let mut cursor = snapshot
        .scan(&KeyRange::prefix(b"b"), Direction::Forward)
        .expect("a scan");
    let mut keys = Vec::new();
    while let Some((key, _)) = cursor.next().expect("a step") {
        keys.push(key.to_vec());
    }
    assert_eq!(keys, [b"b1", b"b2"]);
    let error = get("d").expect_err("the server is down");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}

/// Values of the first format have no stamps, the third has no runs.
#[test]
fn an_earlier_format_is_rejected_and_left_unchanged() {
    let Some(redis) = Redis::shared() else { return };
    let url = format!("{}?durability=relaxed&prefix=earlier", redis.base());
    drop(open(&url));
    for format in [1, 3] {
        redis.command(&format!("HSET {{earlier}}:meta format {format}"));
        let error = open_error(&url);
        assert_eq!(error.kind(), ErrorKind::WrongVersion, "{error}");
        let advice = "the program that wrote it";
        assert!(error.to_string().contains(advice), "{error}");
        assert_eq!(redis.command("HGET {earlier}:meta format"), "$1");
    }
}

/// In the log of the previous format, the runs of a commit are one list of lists.
#[test]
fn the_previous_format_is_upgraded() {
    let Some(redis) = Redis::shared() else { return };
    let url = format!("{}?durability=relaxed&prefix=before", redis.base());
    let commit = |driver: &dyn Driver, key: &str, value: &str| {
        let mut batch = Batch::new();
        batch.put(key, value);
        driver.commit(batch).expect("a commit");
    };
    commit(&*open(&url), "a", "1");
    redis.command("HSET {before}:meta format 4 version 2");
    let lists = r"\x92\xdd\x00\x00\x00\x02\xa1a\xa12\xdd\x00\x00\x00\x02\xa1b\xa13";
    let logged = lists.replace(r"\xdd", r"\xa9\xdd");
    redis.command(&format!("XADD {{before}}:log 2-0 s 21 l \"{logged}\""));
    let driver = open(&url);
    assert_eq!(redis.command("HGET {before}:meta format"), "$1");
    commit(&*driver, "c", "4");
    let mut watch = driver
        .watch(KeyRange::all(), Version(0))
        .expect("a watcher");
    let mut reported = Vec::new();
    while reported.len() < 3 {
        let event = watch.next(Duration::from_secs(10)).expect("an answer");
        match event.expect("an event") {
            WatchEvent::Commit { changes, .. } => reported.push(changes),
            WatchEvent::Gap { version } => panic!("{version:?} is not reported"),
        }
    }
    let put = |key: &str, value: &str| Change::Put {
        key: key.into(),
        value: value.into(),
    };
    let expected = [
        vec![put("a", "1")],
        vec![put("a", "2"), put("b", "3")],
        vec![put("c", "4")],
    ];
    assert_eq!(reported, expected);
}

#[test]
fn a_later_format_is_rejected_and_left_unchanged() {
    let Some(redis) = Redis::shared() else { return };
    let url = format!("{}?durability=relaxed&prefix=later", redis.base());
    drop(open(&url));
    redis.command("HSET {later}:meta format 9");
    let error = open_error(&url);
    assert_eq!(error.kind(), ErrorKind::WrongVersion, "{error}");
    assert!(error.to_string().contains("format 9"), "{error}");
    assert_eq!(redis.command("HLEN {later}:values"), ":0");
}

/// A server that cannot append to its file rejects changes until there is space.
#[test]
fn a_full_disk_changes_nothing() {
    mounted("size=6m", |dir| {
        let path = dir.display().to_string();
        let options = [
            "--dir",
            &path,
            "--appendonly",
            "yes",
            "--auto-aof-rewrite-percentage",
            "0",
        ];
        let Some(redis) = Redis::start(&options) else {
            return;
        };
        let filler = dir.join("filler");
        std::fs::write(&filler, vec![0; 3 << 20]).expect("there is space");
        let driver = open(&redis.url("durability=relaxed&timeout_ms=3000"));
        let put = |number: i64| {
            let mut batch = Batch::new();
            batch.add("sum", 1);
            batch.put(number.to_be_bytes(), vec![7; 100_000]);
            driver.commit(batch)
        };
        let error = (0..200)
            .find_map(|number| put(number).err())
            .expect("it is full");
        assert_eq!(error.kind(), ErrorKind::Full, "{error}");
        let (committed, usage) = (sum(&*driver), driver.usage().expect("usage"));
        assert_eq!(usage.keys as i64, committed + 1);
        assert_eq!(put(999).expect_err("it is full").kind(), ErrorKind::Full);
        std::fs::remove_file(&filler).expect("there is space again");
        let start = std::time::Instant::now();
        while put(committed).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "it stays full");
        }
        assert_eq!(sum(&*driver), committed + 1);
        drop(driver);
    });
}
