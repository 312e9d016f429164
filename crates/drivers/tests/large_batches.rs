//! Batches of a million operations, on every engine and under every memory policy.

use std::sync::Arc;
use std::time::Instant;

use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, Result};

/// Operations of a large batch.
const MANY: u64 = 1_000_000;

/// The policies that local engines are tested under, in addition to `uncached`.
#[cfg(feature = "memory")]
const POLICIES: [&str; 4] = ["ram", "cached", "recent", "indexed"];

/// Counts the keys, and the values that are not `value`.
fn count(driver: &dyn Driver, value: &[u8]) -> Result<(u64, u64)> {
    let snapshot = driver.snapshot()?;
    let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
    let (mut keys, mut others) = (0, 0);
    while let Some((_, held)) = cursor.next()? {
        keys += 1;
        others += u64::from(held != value);
    }
    Ok((keys, others))
}

fn key(number: u64) -> String {
    format!("a key of a usual length {number:08}")
}

fn batch(operations: u64, value: &[u8]) -> Batch {
    let mut batch = Batch::new();
    for number in 0..operations {
        batch.put(key(number), value);
    }
    batch
}

/// Commits a large batch, and reads it.
fn load(url: &str, operations: u64) -> Arc<dyn Driver> {
    let driver = espalier_drivers::open(url).expect("the engine opens");
    let start = Instant::now();
    driver.commit(batch(operations, b"one")).expect("a batch");
    println!("{operations} operations in {:?}", start.elapsed());
    let start = Instant::now();
    let counted = count(&*driver, b"one").expect("a scan");
    println!("scanned in {:?}", start.elapsed());
    assert_eq!(counted, (operations, 0));
    driver
}

/// Commits a large batch, replaces it with another one, and fails to commit a third one. Readers see all of a batch
/// or nothing.
fn check(url: &str, operations: u64) {
    let driver = load(url, operations);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| driver.commit(batch(operations, b"two")).expect("a batch"));
        while !other.is_finished() {
            match count(&*driver, b"one") {
                Ok((keys, others)) => {
                    assert!(keys == operations && (others == 0 || others == operations));
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::SnapshotTooOld, "{error}"),
            }
        }
    });
    let mut conflicting = batch(operations / 10, b"three");
    conflicting.require("absent", Some(Vec::new()));
    let error = driver.commit(conflicting).expect_err("a conflict");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(count(&*driver, b"two").expect("a scan"), (operations, 0));
}

/// Commits a large batch and one of a single operation with each driver in turn; each sees the commits of all.
#[cfg(feature = "memory")]
fn check_policies(url: &str) {
    for (number, policy) in (0..).zip(POLICIES) {
        let driver = espalier_drivers::open(&format!("{url}&policy={policy}")).expect("opens");
        let start = Instant::now();
        let value = [number];
        driver.commit(batch(MANY, &value)).expect("a batch");
        assert_eq!(count(&*driver, &value).expect("a scan"), (MANY, 0));
        let mut one = Batch::new();
        one.put(key(MANY / 2), "another");
        driver.commit(one).expect("a batch of one");
        assert_eq!(count(&*driver, &value).expect("a scan"), (MANY, 1));
        let engine = url.split_once(':').map_or(url, |(scheme, _)| scheme);
        println!("{engine} under {policy}: {:?}", start.elapsed());
    }
}

#[cfg(feature = "memory")]
#[test]
fn a_million_operations_in_memory() {
    check("memory:", MANY);
    check_policies("memory:?");
}

#[cfg(feature = "embedded")]
#[test]
fn a_million_operations_in_lmdb() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("embedded:{}?durability=relaxed", dir.path().display());
    check(&url, MANY);
    #[cfg(feature = "memory")]
    check_policies(&url);
}

#[cfg(feature = "file")]
#[test]
fn a_million_operations_in_files() {
    let dir = tempfile::tempdir().expect("a directory");
    check(
        &format!("file:{}?durability=relaxed", dir.path().display()),
        MANY,
    );
}

#[cfg(feature = "sqlite")]
#[test]
fn a_million_operations_in_sqlite() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    let url = format!("sqlite:{}?durability=relaxed", file.display());
    check(&url, MANY);
    #[cfg(feature = "memory")]
    check_policies(&url);
}

#[cfg(feature = "postgres")]
#[test]
fn a_million_operations_in_postgres() {
    if let Some(postgres) = espalier_testkit::servers::Postgres::shared() {
        let url = postgres.url("durability=relaxed&statement_timeout=300");
        check(&url, MANY);
        #[cfg(feature = "memory")]
        check_policies(&url);
    }
}

#[cfg(feature = "redis")]
#[test]
fn a_million_operations_in_redis() {
    if let Some(redis) = espalier_testkit::servers::Redis::shared() {
        let url = redis.url("durability=relaxed&timeout_ms=60000");
        check(&url, MANY);
        #[cfg(feature = "memory")]
        check_policies(&url);
    }
}

/// Replaces fewer rows, as that takes etcd minutes with a concurrent reader.
#[cfg(feature = "etcd")]
#[test]
fn a_million_operations_in_etcd() {
    if let Some(etcd) = espalier_testkit::servers::Etcd::shared() {
        load(&etcd.url("timeout_ms=60000"), MANY);
        check(&etcd.url("timeout_ms=60000"), 50_000);
    }
}

#[cfg(feature = "mongo")]
#[test]
fn a_million_operations_in_mongodb() {
    if let Some(mongo) = espalier_testkit::servers::Mongo::shared() {
        let url = mongo.url("durability=relaxed&timeout_ms=60000");
        check(&url, MANY);
        #[cfg(feature = "memory")]
        check_policies(&url);
    }
}
