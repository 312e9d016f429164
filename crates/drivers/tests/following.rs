//! Several processes with a full cache of one engine: all of them see each other's commits.
#![cfg(all(feature = "memory", feature = "sqlite"))]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, counter};
use espalier_testkit::process::{self, Part, say};

/// Processes that follow the commits.
const FOLLOWERS: usize = 2;

/// Commits whose propagation is timed.
const TICKS: u64 = 30;

/// With a long staleness bound, as the machine may be busy.
const OPTIONS: &str = "durability=relaxed&policy=cached&staleness_ms=30000";

/// The median time in which a commit has to be visible in all processes.
const VISIBLE: Duration = Duration::from_millis(100);

/// Rows that exist from the start.
const ROWS: u64 = 2000;

/// A generous timeout.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the engine opens")
}

fn get(driver: &dyn Driver, key: &str) -> Option<String> {
    let snapshot = driver.snapshot().expect("a snapshot");
    let value = snapshot.get(key.as_bytes()).expect("a get");
    value.map(|value| String::from_utf8_lossy(&value).into_owned())
}

fn put(driver: &dyn Driver, key: &str, value: &str) {
    let mut batch = Batch::new();
    batch.put(key, value);
    driver.commit(batch).expect("a put");
}

fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_micros() as u64)
}

/// The number of the newest tick, and its age in microseconds.
fn tick(driver: &dyn Driver) -> Option<(u64, u64)> {
    let text = get(driver, "tick")?;
    let (number, made_us) = text.split_once(' ').expect("two numbers");
    let made_us: u64 = made_us.parse().expect("a time");
    let number = number.parse().expect("a number");
    Some((number, now_us().saturating_sub(made_us)))
}

/// Follows ticks up to the number in the argument, prints the age of each, then counts.
#[test]
fn part_following() {
    let Some(argument) = process::argument() else {
        return;
    };
    let (last, url) = argument.split_once(' ').expect("a number and a URL");
    let last: u64 = last.parse().expect("a number");
    let driver = open(url);
    say("open");
    let (start, mut newest) = (Instant::now(), 0);
    while newest < last {
        assert!(
            start.elapsed() < PATIENCE,
            "{newest} is still the newest tick"
        );
        match tick(&*driver) {
            Some((number, age_us)) if number > newest => {
                newest = number;
                say(&format!("{number} {age_us}"));
            }
            Some((number, _)) => assert_eq!(number, newest, "a tick is older than the one before"),
            None => {}
        }
        thread::sleep(Duration::from_micros(500));
    }
    assert_eq!(
        get(&*driver, "large").map(|value| value.len()),
        Some(200_000)
    );
    (0..50).for_each(|_| count(&*driver));
}

/// Increments a counter by a read and a commit with a precondition.
fn count(driver: &dyn Driver) {
    loop {
        let held = {
            let snapshot = driver.snapshot().expect("a snapshot");
            let held = snapshot.get(b"count").expect("a get");
            held.map(std::borrow::Cow::into_owned)
        };
        let sum = counter::decode(b"count", held.as_deref()).expect("a counter") + 1;
        let mut batch = Batch::new();
        batch.require("count", held);
        batch.put("count", counter::encode(sum));
        match driver.commit(batch) {
            Ok(_) => {
                let snapshot = driver.snapshot().expect("a snapshot");
                let shown = snapshot.get(b"count").expect("a get");
                let shown = counter::decode(b"count", shown.as_deref()).expect("a counter");
                assert!(shown >= sum, "{shown} is visible after {sum} was committed");
                return;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
    }
}

/// Starts followers, commits, pauses one of them for a while, and lets all of them count.
fn check(url: &str) {
    let driver = open(url);
    let mut batch = Batch::new();
    (0..ROWS).for_each(|number| batch.put(format!("row {number}"), vec![7; 50]));
    driver.commit(batch).expect("a batch");
    put(&*driver, "large", &"l".repeat(200_000));
    // The last tick is committed while one follower is paused.
    let argument = format!("{} {url}", TICKS + 1);
    let mut parts: Vec<_> = (0..FOLLOWERS)
        .map(|_| Part::start("part_following", &argument))
        .collect();
    for part in &mut parts {
        assert_eq!(part.line().as_deref(), Some("open"));
    }
    let mut ages_us = Vec::new();
    for number in 1..=TICKS {
        put(&*driver, "tick", &format!("{number} {}", now_us()));
        for part in &mut parts {
            let line = part.line().expect("a tick");
            let (tick, age_us) = line.split_once(' ').expect("two numbers");
            assert_eq!(tick.parse(), Ok(number));
            ages_us.push(age_us.parse::<u64>().expect("an age"));
        }
    }
    ages_us.sort_unstable();
    let median = Duration::from_micros(ages_us[ages_us.len() / 2]);
    eprintln!(
        "{}: visible after {median:?}, slowest {} us",
        driver.name(),
        ages_us[ages_us.len() - 1]
    );
    assert!(median < VISIBLE, "{ages_us:?}");
    parts[0].halt();
    // More commits than an engine reports one by one, and changes that it does not report at all.
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::prefix(b"row "));
    driver.commit(batch).expect("a range delete");
    put(&*driver, "large", &"m".repeat(200_000));
    (0..100).for_each(|number| put(&*driver, &format!("other {number}"), "value"));
    put(&*driver, "tick", &format!("{} {}", TICKS + 1, now_us()));
    thread::sleep(Duration::from_millis(100));
    parts[0].go_on();
    (0..50).for_each(|_| count(&*driver));
    for part in parts {
        part.finish();
    }
    let sum = counter::encode(50 * (FOLLOWERS as i64 + 1)).to_vec();
    let uncached = open(&url.replace("policy=cached&staleness_ms=30000", ""));
    for driver in [&driver, &uncached] {
        let start = Instant::now();
        while pairs(&**driver) != pairs(&*uncached) {
            assert!(start.elapsed() < PATIENCE, "the contents still differ");
        }
        assert!(pairs(&**driver).contains(&(b"count".to_vec(), sum.clone())));
    }
}

fn pairs(driver: &dyn Driver) -> Vec<(Vec<u8>, Vec<u8>)> {
    let snapshot = driver.snapshot().expect("a snapshot");
    let mut cursor = snapshot
        .scan(&KeyRange::all(), Direction::Forward)
        .expect("a scan");
    let mut pairs = Vec::new();
    while let Some((key, value)) = cursor.next().expect("a step") {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    pairs
}

#[test]
fn processes_over_sqlite_see_each_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    check(&format!("sqlite:{}?{OPTIONS}", file.display()));
}

#[cfg(feature = "embedded")]
#[test]
fn processes_over_lmdb_see_each_other() {
    let dir = tempfile::tempdir().expect("a directory");
    check(&format!("embedded:{}?{OPTIONS}", dir.path().display()));
}

#[cfg(feature = "redis")]
#[test]
fn processes_over_redis_see_each_other() {
    if let Some(redis) = espalier_testkit::servers::Redis::shared() {
        check(&redis.url(OPTIONS));
    }
}

#[cfg(feature = "postgres")]
#[test]
fn processes_over_postgres_see_each_other() {
    if let Some(postgres) = espalier_testkit::servers::Postgres::shared() {
        check(&postgres.url(OPTIONS));
    }
}

#[cfg(feature = "etcd")]
#[test]
fn processes_over_etcd_see_each_other() {
    if let Some(etcd) = espalier_testkit::servers::Etcd::shared() {
        check(&etcd.url("policy=cached&staleness_ms=30000"));
    }
}

#[cfg(feature = "mongo")]
#[test]
fn processes_over_mongodb_see_each_other() {
    if let Some(mongo) = espalier_testkit::servers::Mongo::shared() {
        check(&mongo.url(OPTIONS));
    }
}

#[cfg(feature = "mongo")]
#[test]
fn processes_over_a_replica_set_see_each_other() {
    if let Some(set) = espalier_testkit::servers::ReplicaSet::start(3) {
        check(&set.url(&OPTIONS.replace("relaxed", "durable")));
    }
}

/// How often the cache reads the whole engine again during so many large commits of this process.
#[cfg(any(feature = "redis", feature = "etcd"))]
fn count_reloads(engine: Arc<dyn Driver>, commits: u8) -> u64 {
    use espalier_keyspace::metered::{Call, Metered};

    let metered = Metered::new(engine);
    let meter = metered.meter();
    let scans = || meter.readings()[Call::Scan as usize].count;
    let options = "policy=cached&staleness_ms=30000";
    let driver = espalier_drivers::under_policy(Arc::new(metered), options).expect("a policy");
    let before = scans();
    for round in 0..commits {
        let mut batch = Batch::new();
        (0..20_000u64).for_each(|number| batch.put(number.to_be_bytes(), [round; 60]));
        driver.commit(batch).expect("a commit");
        assert!(get(&*driver, "absent").is_none());
    }
    scans() - before
}

/// The engine's watch reported a commit, too large for its changes, before the commit returned: the cache read the
/// whole engine again just before it applied the commit. (A few times are allowed, as responses may be late on a busy
/// machine.)
#[cfg(feature = "redis")]
#[test]
fn an_own_large_commit_is_not_read_again() {
    if let Some(redis) = espalier_testkit::servers::Redis::shared() {
        let scans = count_reloads(open(&redis.url("durability=relaxed")), 20);
        assert!(scans <= 5, "{scans} for 20 commits");
    }
}

/// The same for a staged commit, whose predecessor was unknown.
#[cfg(feature = "etcd")]
#[test]
fn an_own_staged_commit_is_not_read_again() {
    if let Some(etcd) = espalier_testkit::servers::Etcd::shared() {
        let scans = count_reloads(open(&etcd.url("")), 4);
        assert!(scans <= 1, "{scans} for 4 commits");
    }
}

/// A cache continues at its version after its connections were cut.
#[cfg(feature = "redis")]
#[test]
fn a_cut_connection_is_restored() {
    use espalier_testkit::servers::{Proxy, Redis};

    let Some(redis) = Redis::shared() else { return };
    let url = redis.url(OPTIONS);
    let proxy = Proxy::start(redis.port());
    let cut = url.replace(&redis.port().to_string(), &proxy.port().to_string());
    let (driver, follower) = (open(&url), open(&cut));
    for number in 0..20 {
        let value = number.to_string();
        proxy.cut();
        put(&*driver, "key", &value);
        let start = Instant::now();
        while get(&*follower, "key").as_ref() != Some(&value) {
            assert!(start.elapsed() < PATIENCE, "{:?}", follower.cache_status());
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// When the server is paused, the cache serves reads until its staleness bound; then reads fail, until the server
/// continues. No read waits for the whole timeout of the engine.
#[cfg(feature = "redis")]
#[test]
fn reads_fail_when_the_server_is_paused_beyond_the_bound() {
    use espalier_testkit::servers::{Redis, Signal};

    let Some(redis) = Redis::start(&[]) else {
        return;
    };
    let options = "durability=relaxed&timeout_ms=20000&policy=cached&staleness_ms=1000";
    let driver = open(&redis.url(options));
    put(&*driver, "key", "value");
    assert!(get(&*driver, "key").is_some());
    redis.process().signal(Signal::Pause);
    let start = Instant::now();
    let error = loop {
        match driver.snapshot() {
            Ok(snapshot) => assert!(snapshot.get(b"key").expect("a get").is_some()),
            Err(error) => break error,
        }
        assert!(start.elapsed() < PATIENCE, "reads never fail");
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("staleness_ms"), "{error}");
    let waited = start.elapsed();
    assert!(
        waited > Duration::from_millis(700),
        "failed after {waited:?}"
    );
    assert!(waited < Duration::from_secs(19), "failed after {waited:?}");
    redis.process().signal(Signal::Continue);
    let start = Instant::now();
    while driver.snapshot().is_err() {
        assert!(start.elapsed() < PATIENCE, "reads still fail");
    }
    put(&*driver, "key", "another");
    assert_eq!(get(&*driver, "key").as_deref(), Some("another"));
}

/// A follower whose position in the log was deleted reads everything again, even if the log is empty.
#[cfg(feature = "postgres")]
#[test]
fn a_pruned_log_is_no_loss() {
    use espalier_testkit::servers::Postgres;

    let Some(server) = Postgres::shared() else {
        return;
    };
    let url = server.url("schema=pruned&durability=relaxed&policy=cached&staleness_ms=30000");
    let driver = open(&url);
    put(&*driver, "key", "0");
    let argument = format!("1 {url}");
    let mut part = Part::start("part_following", &argument);
    assert_eq!(part.line().as_deref(), Some("open"));
    part.halt();
    put(&*driver, "large", &"l".repeat(200_000));
    (0..20).for_each(|number| put(&*driver, "key", &number.to_string()));
    put(&*driver, "tick", &format!("1 {}", now_us()));
    server.run("DELETE FROM pruned.commits");
    part.go_on();
    part.finish();
    put(&*driver, "key", "last");
}
