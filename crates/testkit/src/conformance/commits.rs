//! Batches: order, preconditions, counters, range deletions, versions.

use espalier_keyspace::{Batch, Driver, ErrorKind, KeyRange, counter};

use super::Open;
use super::operations::{all, error_kind, get, numbered, put, put_keys};

/// A later operation of a batch sees an earlier one.
pub fn operations_apply_in_order(open: Open<'_>) {
    let driver = open();
    let mut batch = Batch::new();
    batch.put("a", "first");
    batch.put("a", "second");
    batch.put("b", "gone");
    batch.delete("b");
    batch.delete("c");
    batch.put("c", "there");
    batch.add("d", 5);
    batch.add("d", -2);
    batch.delete("e");
    batch.add("e", 1);
    batch.delete("e");
    driver.commit(batch).expect("a batch");
    assert_eq!(get(&*driver, b"a").as_deref(), Some(&b"second"[..]));
    assert_eq!(get(&*driver, b"b"), None);
    assert_eq!(get(&*driver, b"c").as_deref(), Some(&b"there"[..]));
    assert_eq!(get(&*driver, b"d"), Some(counter::encode(3).to_vec()));
    assert_eq!(get(&*driver, b"e"), None);
}

/// A batch is applied if all required values and absences hold.
pub fn preconditions_that_hold(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"here", b"value");
    let mut batch = Batch::new();
    batch.require("here", Some(b"value".to_vec()));
    batch.require("absent", None);
    batch.put("absent", "now here");
    driver.commit(batch).expect("preconditions hold");
    assert_eq!(get(&*driver, b"absent").as_deref(), Some(&b"now here"[..]));
}

/// Any violated precondition rejects the batch with a conflict on its key.
pub fn preconditions_that_do_not(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"here", b"value");
    put(&*driver, b"empty", b"");
    let before = all(&*driver);
    let broken: [(&[u8], Option<&[u8]>); 6] = [
        (b"here", None),
        (b"here", Some(b"other")),
        (b"here", Some(b"valu")),
        (b"here", Some(b"")),
        (b"empty", None),
        (b"absent", Some(b"")),
    ];
    for (key, value) in broken {
        let mut batch = Batch::new();
        batch.require(key, value.map(<[u8]>::to_vec));
        batch.put("new", "value");
        batch.delete("here");
        let error = driver.commit(batch).expect_err("a broken precondition");
        assert_eq!(error.kind(), ErrorKind::Conflict, "{key:?} {value:?}");
        assert_eq!(error.key(), Some(key));
        assert!(error.is_retryable());
    }
    assert_eq!(all(&*driver), before);
}

/// The claim that preconditions were met at a version is trusted for that version only.
pub fn preconditions_that_were_met(open: Open<'_>) {
    let driver = open();
    let one = put(&*driver, b"key", b"one");
    let commit = |value: &[u8], version| {
        let mut batch = Batch::new();
        batch.require("key", Some(value.to_vec()));
        batch.put("key", [value, b"+"].concat());
        batch.assume_met_at(version);
        driver.commit(batch).map(|committed| committed.version)
    };
    let two = commit(b"one", one).expect("it is the newest version");
    assert_eq!(error_kind(commit(b"one", one)), ErrorKind::Conflict);
    commit(b"one+", one).expect("it holds, independently of the claimed version");
    assert_eq!(error_kind(commit(b"one+", two)), ErrorKind::Conflict);
    assert_eq!(get(&*driver, b"key").as_deref(), Some(&b"one++"[..]));
}

/// The conflict names the first violated precondition.
pub fn the_first_broken_precondition_is_named(open: Open<'_>) {
    let driver = open();
    let mut batch = Batch::new();
    batch.require("fine", None);
    batch.require("second", Some(b"x".to_vec()));
    batch.require("first", Some(b"x".to_vec()));
    let error = driver.commit(batch).expect_err("a conflict");
    assert_eq!(error.key(), Some(&b"second"[..]));
}

/// Preconditions apply to the state before the batch, not to its own operations.
pub fn preconditions_see_the_state_before(open: Open<'_>) {
    let driver = open();
    let mut batch = Batch::new();
    batch.put("key", "value");
    batch.require("key", None);
    driver.commit(batch).expect("the key was absent before");
    let mut batch = Batch::new();
    batch.put("key", "other");
    batch.require("key", Some(b"other".to_vec()));
    assert_eq!(error_kind(driver.commit(batch)), ErrorKind::Conflict);
}

/// Counters: absent is 0, sums may be negative, both ends of the range are reachable.
pub fn counters_add_up(open: Open<'_>) {
    let driver = open();
    let mut sum = 0;
    for delta in [1, -5, 0, i64::MAX, 4, i64::MIN, -i64::MAX, i64::MAX] {
        let mut batch = Batch::new();
        batch.add("sum", delta);
        driver.commit(batch).expect("within the range");
        sum += delta;
        assert_eq!(get(&*driver, b"sum"), Some(counter::encode(sum).to_vec()));
    }
    let mut batch = Batch::new();
    batch.put("sum", counter::encode(40));
    batch.add("sum", 2);
    driver.commit(batch).expect("a sum");
    assert_eq!(get(&*driver, b"sum"), Some(counter::encode(42).to_vec()));
}

/// A counter overflow rejects the whole batch, including the operations before it.
pub fn an_overflow_refuses_all(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"high", &counter::encode(i64::MAX));
    put(&*driver, b"low", &counter::encode(i64::MIN));
    let before = all(&*driver);
    for (key, delta) in [("high", 1), ("low", -1)] {
        let mut batch = Batch::new();
        batch.put("new", "value");
        batch.delete("low");
        batch.put("low", counter::encode(i64::MIN));
        batch.add("other", 1);
        batch.add(key, delta);
        batch.delete_range(KeyRange::all());
        let error = driver.commit(batch).expect_err("an overflow");
        assert_eq!(error.kind(), ErrorKind::Overflow);
        assert_eq!(error.key(), Some(key.as_bytes()));
        assert_eq!(all(&*driver), before);
    }
}

/// Adding to a value that is not a counter rejects the batch.
pub fn a_value_that_is_no_counter(open: Open<'_>) {
    let driver = open();
    for value in [&b""[..], b"7 bytes", b"9 bytes..", b"a"] {
        put(&*driver, b"key", value);
        let mut batch = Batch::new();
        batch.add("key", 1);
        assert_eq!(error_kind(driver.commit(batch)), ErrorKind::Overflow);
        assert_eq!(get(&*driver, b"key").as_deref(), Some(value));
    }
}

/// A range deletion includes the start and excludes the end.
pub fn delete_range_boundaries(open: Open<'_>) {
    let driver = open();
    let keys: &[&[u8]] = &[b"\0", b"a", b"a\0", b"ab", b"b", b"b\0", b"c", b"\xff\xff"];
    let bounds: &[&[u8]] = &[
        b"",
        b"\0",
        b"a",
        b"a\0\0",
        b"aa",
        b"b",
        b"c",
        b"d",
        b"\xff\xff\0",
    ];
    let ends = bounds.iter().map(|end| Some(end.to_vec())).chain([None]);
    for end in ends {
        for start in bounds {
            let range = KeyRange {
                start: start.to_vec(),
                end: end.clone(),
            };
            put_keys(&*driver, keys);
            let mut batch = Batch::new();
            batch.delete_range(range.clone());
            driver.commit(batch).expect("a range delete");
            let left: Vec<_> = all(&*driver).into_iter().map(|(key, _)| key).collect();
            let mut expected = keys.to_vec();
            expected.retain(|key| !range.contains(key));
            assert_eq!(left, expected, "{range:?}");
        }
    }
}

/// A range deletion deletes earlier puts of its batch and not later ones.
pub fn delete_range_and_put_in_one_batch(open: Open<'_>) {
    let driver = open();
    put_keys(&*driver, &[b"a1", b"a2", b"b1"]);
    let mut batch = Batch::new();
    batch.put("a3", "before");
    batch.delete_range(KeyRange::prefix(b"a"));
    batch.put("a2", "after");
    driver.commit(batch).expect("a batch");
    let keys: Vec<_> = all(&*driver).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [b"a2", b"b1"]);
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::all());
    driver.commit(batch).expect("everything deleted");
    assert_eq!(all(&*driver), []);
}

/// Every change has a larger version than the one before, and the next snapshot has it.
pub fn versions_grow(open: Open<'_>) {
    let driver = open();
    let mut last = driver.snapshot().expect("a snapshot").version();
    for number in 0..20 {
        let version = put(&*driver, &numbered(number), b"v");
        assert!(version > last);
        assert_eq!(driver.snapshot().expect("a snapshot").version(), version);
        last = version;
    }
}

/// A commit without changes succeeds, checks its preconditions, and creates no version.
pub fn a_commit_of_nothing(open: Open<'_>) {
    let driver = open();
    let version = put(&*driver, b"key", b"value");
    let mut absent = Batch::new();
    absent.delete("absent");
    absent.delete_range(KeyRange::new("x", "y"));
    absent.delete_range(KeyRange::new("z", "a"));
    let mut tested = Batch::new();
    tested.require("key", Some(b"value".to_vec()));
    for batch in [Batch::new(), absent, tested] {
        assert_eq!(driver.commit(batch).expect("nothing").version, version);
    }
    let mut broken = Batch::new();
    broken.require("key", None);
    assert_eq!(error_kind(driver.commit(broken)), ErrorKind::Conflict);
    assert!(
        put(&*driver, b"key", b"value") > version,
        "a put is a change"
    );
}

/// A large batch is applied atomically, and rejected atomically on conflict.
pub fn a_batch_of_one_hundred_thousand(open: Open<'_>) {
    a_batch_of(open, 100_000);
}

/// The same for a slow server.
pub fn a_batch_of_three_hundred(open: Open<'_>) {
    a_batch_of(open, 300);
}

fn a_batch_of(open: Open<'_>, keys: u64) {
    let driver = open();
    let batch = |value: &'static str| {
        let mut batch = Batch::new();
        (0..keys).for_each(|number| batch.put(numbered(number), value));
        batch
    };
    driver.commit(batch("one")).expect("a large batch");
    check_all(&*driver, keys, b"one");
    let mut conflicting = batch("two");
    conflicting.require(numbered(keys / 2), Some(b"two".to_vec()));
    assert_eq!(error_kind(driver.commit(conflicting)), ErrorKind::Conflict);
    check_all(&*driver, keys, b"one");
    let mut halving = Batch::new();
    halving.delete_range(KeyRange::new(numbered(0), numbered(keys / 2)));
    driver.commit(halving).expect("a large range delete");
    assert_eq!(all(&*driver).len() as u64, keys / 2);
}

fn check_all(driver: &dyn Driver, keys: u64, value: &[u8]) {
    let pairs = all(driver);
    assert_eq!(pairs.len() as u64, keys);
    for (number, pair) in pairs.iter().enumerate() {
        assert_eq!(pair.0, numbered(number as u64));
        assert_eq!(pair.1, value);
    }
}
