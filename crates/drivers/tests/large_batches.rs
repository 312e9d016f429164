//! A batch of a million operations on the engines that stage it.
#![cfg(any(feature = "redis", feature = "etcd"))]

use std::time::Instant;

use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, Result};

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

fn batch(operations: u64, value: &[u8]) -> Batch {
    let mut batch = Batch::new();
    for number in 0..operations {
        batch.put(format!("a key of a usual length {number:08}"), value);
    }
    batch
}

/// Commits a large batch, replaces it by another one, and fails to do so again. Readers see all
/// of each or nothing.
fn check(url: &str, operations: u64) {
    let driver = espalier_drivers::open(url).expect("the server is there");
    let start = Instant::now();
    driver.commit(batch(operations, b"one")).expect("a batch");
    eprintln!("{operations} operations in {:?}", start.elapsed());
    let start = Instant::now();
    let counted = count(&*driver, b"one").expect("a scan");
    eprintln!("scanned in {:?}", start.elapsed());
    assert_eq!(counted, (operations, 0));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let driver = espalier_drivers::open(url).expect("the server is there");
            driver.commit(batch(operations, b"two")).expect("a batch")
        });
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

#[cfg(feature = "redis")]
#[test]
fn a_million_operations_in_redis() {
    if let Some(redis) = espalier_testkit::servers::Redis::shared() {
        check(&redis.url("durability=relaxed&timeout_ms=60000"), 1_000_000);
    }
}

/// Less, as etcd takes a minute for a million.
#[cfg(feature = "etcd")]
#[test]
fn fifty_thousand_operations_in_etcd() {
    if let Some(etcd) = espalier_testkit::servers::Etcd::shared() {
        check(&etcd.url("timeout_ms=60000"), 50_000);
    }
}
