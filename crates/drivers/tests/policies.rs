//! Memory policies: what each caches, what each reads from the engine, and how each handles failures of the engine.
#![cfg(feature = "memory")]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_drivers::under_policy;
use espalier_keyspace::metered::{Call, Meter, Metered};
use espalier_keyspace::{
    Batch, Direction, Driver, Error, ErrorKind, KeyRange, KeyspaceCause, Policy, Snapshot,
    Transact, Version,
};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};

/// A generous timeout.
const PATIENCE: Duration = Duration::from_secs(60);

fn memory() -> Arc<dyn Driver> {
    espalier_drivers::open("memory:").expect("memory opens")
}

fn put(driver: &dyn Driver, key: &str, value: &str) -> Version {
    let mut batch = Batch::new();
    batch.put(key, value);
    driver.commit(batch).expect("a put").version
}

fn try_get(driver: &dyn Driver, key: &str) -> Result<Option<String>, Error> {
    let snapshot = driver.snapshot()?;
    let value = snapshot.get(key.as_bytes())?;
    Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
}

fn get(driver: &dyn Driver, key: &str) -> Option<String> {
    try_get(driver, key).expect("a read")
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// An engine, a faulty driver on top of it, and a driver with a policy on top of that.
fn faulty(options: &str) -> (Arc<dyn Driver>, Arc<Faulty>, Arc<dyn Driver>) {
    let inner = memory();
    let faulty = Arc::new(Faulty::new(Arc::clone(&inner)));
    let driver = under_policy(Arc::clone(&faulty) as Arc<_>, options).expect("a policy");
    (inner, faulty, driver)
}

fn fails(sites: &[Site]) -> Fault {
    Fault {
        sites: sites.to_vec(),
        after: 0,
        lasting: Lasting::ForEver,
        kind: ErrorKind::Unavailable,
    }
}

#[test]
fn a_cache_serves_reads_until_its_staleness_bound() {
    let (inner, faulty, driver) = faulty("policy=cached&staleness_ms=5000");
    put(&*driver, "key", "old");
    assert_eq!(get(&*driver, "key").as_deref(), Some("old"));
    faulty.arm(fails(&[Site::Snapshot, Site::Watch]));
    put(&*inner, "key", "new");
    // The watch may have reported the new value before the fault.
    get(&*driver, "key");
    wait_until("reads never fail", || try_get(&*driver, "key").is_err());
    let error = try_get(&*driver, "key").expect_err("too old");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    for word in ["staleness_ms", "5000 ms", "an injected fault"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    let residence = driver.cache_status();
    assert!(residence.lag > residence.lag_max && residence.failure.is_some());
    faulty.disarm();
    wait_until("the engine is not followed again", || {
        try_get(&*driver, "key").is_ok_and(|value| value.as_deref() == Some("new"))
    });
    wait_until("the failure stays", || {
        driver.cache_status().failure.is_none()
    });
}

/// After a conflict, reads do not return the outdated value, even if commits cannot be followed.
#[test]
fn a_read_after_a_conflict_returns_the_conflicting_value() {
    let (inner, faulty, driver) = faulty("policy=cached&staleness_ms=60000");
    put(&*driver, "key", "old");
    assert_eq!(get(&*driver, "key").as_deref(), Some("old"));
    faulty.arm(fails(&[Site::Watch]));
    wait_until("the watch does not fail", || {
        driver.cache_status().failure.is_some()
    });
    put(&*inner, "key", "new");
    // A local read may return the old value within the staleness bound.
    assert_eq!(get(&*driver, "key").as_deref(), Some("old"));
    let mut batch = Batch::new();
    batch.require("key", Some(b"old".to_vec()));
    batch.put("key", "mine");
    let error = driver.commit(batch).expect_err("a conflict");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let reader = thread::spawn(move || get(&*driver, "key"));
    thread::sleep(Duration::from_millis(200));
    assert!(!reader.is_finished(), "it returned the outdated value");
    faulty.disarm();
    assert_eq!(reader.join().expect("a reader").as_deref(), Some("new"));
}

/// If a commit whose response was lost was applied, the next read returns it.
#[test]
fn a_read_after_a_lost_response_returns_the_outcome() {
    let (_, faulty, driver) = faulty("policy=cached");
    faulty.arm(Fault {
        sites: vec![Site::AfterCommit],
        after: 0,
        lasting: Lasting::Once,
        kind: ErrorKind::OutcomeUnknown,
    });
    let mut batch = Batch::new();
    batch.put("key", "value");
    let error = driver.commit(batch).expect_err("a lost response");
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(get(&*driver, "key").as_deref(), Some("value"));
}

/// A transaction that commits nothing, or is rejected, did not decide on outdated values of the cache.
#[test]
fn a_transaction_decides_again_if_the_cache_was_outdated() {
    let inner = memory();
    let options = "policy=cached&staleness_ms=60000";
    let driver = under_policy(Arc::clone(&inner), options).expect("a policy");
    for number in 0..500 {
        put(&*inner, "key", &number.to_string());
        let cached = || driver.snapshot_for_update(&|_| {});
        let seen = |snapshot: &dyn Snapshot| {
            // The first snapshot may be older than the key.
            let value = snapshot.get(b"key").expect("a read").unwrap_or_default();
            String::from_utf8_lossy(&value).into_owned()
        };
        let unchanged = Transact::<Error>::new(&*driver).run(&cached, &mut |snapshot| {
            Ok((Batch::new(), seen(&*snapshot)))
        });
        assert_eq!(unchanged.expect("no commit"), number.to_string());
        put(&*inner, "key", &format!("{number} again"));
        let mut last = String::new();
        let rejected = Transact::<Rejected>::new(&*driver).run(
            &|| Ok(driver.snapshot_for_update(&|_| {})?),
            &mut |snapshot| {
                last = seen(&*snapshot);
                Err::<(Batch, ()), _>(Rejected(None))
            },
        );
        assert!(rejected.is_err_and(|error| error.0.is_none()));
        assert_eq!(last, format!("{number} again"));
    }
}

/// The rejection of a transaction, or an error of the key space.
struct Rejected(Option<Error>);

impl From<Error> for Rejected {
    fn from(error: Error) -> Self {
        Self(Some(error))
    }
}

impl KeyspaceCause for Rejected {
    fn keyspace(&self) -> Option<&Error> {
        self.0.as_ref()
    }
}

/// The cache waited until the watch reported its own commits, and read everything again after each large one.
#[test]
fn own_commits_are_visible_without_the_watch() {
    let (engine, faulty, view) = faulty("policy=cached&staleness_ms=60000");
    put(&*view, "before", "1");
    let mut held = Batch::new();
    held.add("count", 40);
    view.commit(held).expect("a counter");
    faulty.arm(fails(&[Site::Watch, Site::Scan]));
    let is_disconnected = || view.cache_status().failure.is_some();
    wait_until("the watch does not fail", is_disconnected);
    for number in 0..50 {
        let mut batch = Batch::new();
        batch.delete_range(KeyRange::prefix(b"row"));
        batch.put(format!("row {number}"), vec![b'x'; 100_000]);
        batch.delete("before");
        batch.add("count", 2);
        view.commit(batch).expect("a commit");
        let row = get(&*view, &format!("row {number}"));
        assert_eq!(row.map(|row| row.len()), Some(100_000));
    }
    let pairs = |driver: &dyn Driver| {
        let snapshot = driver.snapshot().expect("a snapshot");
        let mut cursor = snapshot
            .scan(&KeyRange::all(), Direction::Forward)
            .expect("a scan");
        let mut pairs = Vec::new();
        while let Some((key, value)) = cursor.next().expect("a step") {
            pairs.push((key.to_vec(), value.to_vec()));
        }
        pairs
    };
    assert_eq!(pairs(&*view), pairs(&*engine));
    assert_eq!(pairs(&*view).len(), 2);
    // A commit of another process in between is not skipped.
    put(&*engine, "other", "1");
    put(&*view, "own", "1");
    faulty.disarm();
    assert_eq!(get(&*view, "other").as_deref(), Some("1"));
    assert_eq!(get(&*view, "own").as_deref(), Some("1"));
}

/// A linearizable read returns every acknowledged commit of all processes.
#[test]
fn a_linearizable_read_returns_the_commits_of_other_processes() {
    let inner = memory();
    let options = "policy=cached&read=linearizable";
    let driver = under_policy(Arc::clone(&inner), options).expect("a policy");
    for number in 0..500 {
        let value = number.to_string();
        put(&*inner, "key", &value);
        assert_eq!(get(&*driver, "key"), Some(value));
    }
    let (_, faulty, driver) = faulty(options);
    faulty.arm(fails(&[Site::Snapshot]));
    try_get(&*driver, "key").expect_err("the engine cannot be read");
}

fn metered(options: &str) -> (Arc<dyn Driver>, Arc<Meter>, Arc<dyn Driver>) {
    let inner = memory();
    let metered = Metered::new(Arc::clone(&inner));
    let meter = metered.meter();
    let driver = under_policy(Arc::new(metered), options).expect("a policy");
    (inner, meter, driver)
}

fn count(meter: &Meter, call: Call) -> u64 {
    meter.readings()[call as usize].count
}

#[test]
fn local_reads_do_not_access_the_engine() {
    let (_, meter, driver) = metered("policy=cached&staleness_ms=600000");
    put(&*driver, "key", "value");
    let before = [Call::Snapshot, Call::Get, Call::Scan].map(|call| count(&meter, call));
    for _ in 0..1000 {
        assert!(get(&*driver, "key").is_some() && get(&*driver, "absent").is_none());
    }
    let after = [Call::Snapshot, Call::Get, Call::Scan].map(|call| count(&meter, call));
    assert_eq!(before, after);
    let residence = driver.cache_status();
    assert_eq!(residence.policy, Policy::Cached);
    assert_eq!((residence.keys, residence.bytes), (1, 8));
    assert_eq!(residence.version, Some(Version(1)));
}

#[test]
fn recent_values_are_read_once() {
    let (inner, meter, driver) = metered("policy=recent");
    put(&*driver, "key", "one");
    let held = driver.snapshot().expect("a snapshot");
    wait_until("commits are not followed", || {
        driver.cache_status().version == Some(Version(1))
    });
    for _ in 0..10 {
        assert_eq!(get(&*driver, "key").as_deref(), Some("one"));
        assert_eq!(get(&*driver, "absent"), None);
    }
    assert_eq!(count(&meter, Call::Get), 2);
    put(&*inner, "key", "two");
    assert_eq!(get(&*driver, "key").as_deref(), Some("two"));
    wait_until("commits of other processes are not followed", || {
        driver.cache_status().version == Some(Version(2))
    });
    for _ in 0..10 {
        assert_eq!(get(&*driver, "key").as_deref(), Some("two"));
    }
    // The cached value is newer than this snapshot.
    assert_eq!(
        held.get(b"key").expect("a get").as_deref(),
        Some(&b"one"[..])
    );
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::all());
    driver.commit(batch).expect("a range delete");
    assert_eq!(get(&*driver, "key"), None);
}

#[test]
fn recent_values_are_bounded_in_bytes() {
    let (_, _, driver) = metered("policy=recent&cache_bytes=64K");
    let value = "v".repeat(1000);
    for number in 0..1000 {
        put(&*driver, &number.to_string(), &value);
    }
    wait_until("commits are not followed", || {
        driver.cache_status().version == Some(Version(1000))
    });
    for number in 0..1000 {
        assert_eq!(get(&*driver, &number.to_string()).as_ref(), Some(&value));
    }
    let bytes = driver.cache_status().bytes;
    assert!(bytes > 16 << 10 && bytes <= 64 << 10, "{bytes} bytes");
}

#[test]
fn indexed_reads_only_long_values_from_the_engine() {
    let (_, meter, driver) = metered("policy=indexed&value_bytes=5");
    put(&*driver, "short", "12345");
    put(&*driver, "long", "123456");
    wait_until("commits are not followed", || {
        driver.cache_status().version == Some(Version(2))
    });
    // The last byte marks the short value as present.
    assert_eq!(driver.cache_status().bytes, 5 + 5 + 4 + 1);
    let before = count(&meter, Call::Get);
    assert_eq!(get(&*driver, "short").as_deref(), Some("12345"));
    assert_eq!(get(&*driver, "absent"), None);
    assert_eq!(count(&meter, Call::Get), before);
    assert_eq!(get(&*driver, "long").as_deref(), Some("123456"));
    assert_eq!(count(&meter, Call::Get), before + 1);
}

/// If commits cannot be followed, these two policies are slower, but correct: they read from the engine.
#[test]
fn recent_and_indexed_are_correct_without_following() {
    for options in ["policy=recent", "policy=indexed"] {
        let (inner, faulty, driver) = faulty(options);
        faulty.arm(fails(&[Site::Watch]));
        wait_until("the watch does not fail", || {
            driver.cache_status().failure.is_some()
        });
        for number in 0..50 {
            let value = number.to_string();
            put(&*inner, "key", &value);
            assert_eq!(get(&*driver, "key"), Some(value), "{options}");
        }
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn ram_reads_the_engine_and_never_writes_to_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("sqlite:{}", dir.path().join("data.db").display());
    let open = |url: &str| espalier_drivers::open(url).expect("the file opens");
    let version = put(&*open(&url), "key", "stored");
    let driver = open(&format!("{url}?policy=ram"));
    assert!(driver.name() == "sqlite" && !driver.capability().durable);
    assert_eq!(driver.snapshot().expect("a snapshot").version(), version);
    assert_eq!(get(&*driver, "key").as_deref(), Some("stored"));
    assert!(put(&*driver, "key", "changed") > version);
    assert_eq!(get(&*driver, "key").as_deref(), Some("changed"));
    assert_eq!(driver.cache_status().policy, Policy::Ram);
    drop(driver);
    assert_eq!(get(&*open(&url), "key").as_deref(), Some("stored"));
}

#[test]
fn unknown_options_are_rejected() {
    let error = under_policy(memory(), "policy=cached&bytes=3").err();
    let error = error.expect("no such option").to_string();
    assert!(
        error.contains("\"bytes\"") && error.contains("staleness_ms"),
        "{error}"
    );
    let error = espalier_drivers::open("memory:?policy=all").err();
    assert!(
        error
            .expect("no such policy")
            .to_string()
            .contains("cached")
    );
}

/// Prints the time of single reads in memory and under `cached`:
/// `cargo test --test policies -- --ignored --nocapture costs`.
#[test]
#[ignore = "measures"]
fn costs_of_single_reads() {
    let drivers = [
        ("memory", memory()),
        (
            "cached",
            under_policy(memory(), "policy=cached").expect("a policy"),
        ),
    ];
    for (_, driver) in &drivers {
        for number in 0..100_000 {
            put(
                &**driver,
                &format!("key {number:06}"),
                "a value of a usual length",
            );
        }
    }
    let keys: Vec<_> = (0..1000)
        .map(|number| format!("key {:06}", number * 97))
        .collect();
    for round in 0..3 {
        for (name, driver) in &drivers {
            let start = Instant::now();
            for _ in 0..200 {
                for key in &keys {
                    let snapshot = driver.snapshot().expect("a snapshot");
                    assert!(snapshot.get(key.as_bytes()).expect("a get").is_some());
                }
            }
            eprintln!(
                "round {round}: {name} {:?} a read",
                start.elapsed() / 200_000
            );
        }
    }
}
