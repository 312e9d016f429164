//! Reopening, usage, check, flush.

use espalier_keyspace::{Batch, KeyRange};

use super::Open;
use super::operations::{all, numbered, put};

/// Committed data is present after the engine is closed and opened again.
pub fn a_durable_engine_keeps_everything(open: Open<'_>) {
    let driver = open();
    if !driver.capability().durable {
        return;
    }
    let mut batch = Batch::new();
    (0..1000).for_each(|number| batch.put(numbered(number), vec![1; number as usize * 10]));
    driver.commit(batch).expect("a batch");
    driver
        .write(&[], &mut |writer| {
            writer.delete_range(&KeyRange::new(numbered(10), numbered(20)))?;
            writer.add(b"sum", 4)
        })
        .expect("a write");
    put(&*driver, b"last", b"");
    let before = all(&*driver);
    drop(driver);
    for _ in 0..3 {
        let driver = open();
        assert!(all(&*driver) == before, "the state changed");
        assert_eq!(driver.check().expect("a check"), []);
    }
}

/// The version of a reopened engine continues.
pub fn versions_grow_across_reopening(open: Open<'_>) {
    let driver = open();
    if !driver.capability().durable {
        return;
    }
    let mut last = put(&*driver, b"key", b"0");
    drop(driver);
    for _ in 0..3 {
        let driver = open();
        assert_eq!(driver.snapshot().expect("a snapshot").version(), last);
        let version = put(&*driver, b"key", b"1");
        assert!(version > last);
        last = version;
    }
}

/// Usage reports the number of keys, and at least the size of the data.
pub fn usage_counts_keys(open: Open<'_>) {
    let driver = open();
    assert_eq!(driver.usage().expect("usage").keys, 0);
    let mut batch = Batch::new();
    (0..100).for_each(|number| batch.put(numbered(number), vec![0; 1000]));
    driver.commit(batch).expect("a batch");
    let usage = driver.usage().expect("usage");
    assert_eq!(usage.keys, 100);
    assert!(usage.bytes >= 100_000);
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::new(numbered(50), numbered(100)));
    driver.commit(batch).expect("a range delete");
    assert_eq!(driver.usage().expect("usage").keys, 50);
}

/// `check` finds nothing in an engine that was only changed through its driver.
pub fn a_sound_engine_has_no_findings(open: Open<'_>) {
    let driver = open();
    assert_eq!(driver.check().expect("a check"), []);
    for number in 0..200 {
        put(&*driver, &numbered(number), &vec![2; number as usize * 100]);
    }
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::new(numbered(20), numbered(150)));
    driver.commit(batch).expect("a range delete");
    assert_eq!(driver.check().expect("a check"), []);
}

/// Replacing a long value by a shorter one, in one batch and in several, leaves the engine consistent.
pub fn values_may_shrink(open: Open<'_>) {
    let driver = open();
    for sizes in [[60_000, 20_000, 5_000], [1_000_000, 9_000, 100]] {
        let mut batch = Batch::new();
        for bytes in sizes {
            put(&*driver, b"apart", &vec![3; bytes]);
            batch.put("together", vec![4; bytes]);
        }
        driver.commit(batch).expect("a batch");
        assert_eq!(driver.check().expect("a check"), []);
    }
}

/// Flush succeeds at any time.
pub fn flush_succeeds(open: Open<'_>) {
    let driver = open();
    driver.flush().expect("a flush of nothing");
    put(&*driver, b"key", b"value");
    driver.flush().expect("a flush");
    driver.flush().expect("a second flush");
}
