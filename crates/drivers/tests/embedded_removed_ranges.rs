//! Removed ranges in the journal of the embedded engine, compared with a map: before and after they are merged, after
//! crashes, and with scans that join deleted keys.
#![cfg(feature = "embedded")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use espalier_drivers::open;
use espalier_keyspace::{Batch, Direction, Driver, KeyRange, Snapshot};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// The number of different keys.
const KEYS: u32 = 400;

fn opened(dir: &Path, options: &str) -> Arc<dyn Driver> {
    open(&format!("embedded:{}?{options}", dir.display())).expect("the directory opens")
}

fn key(number: u32) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

fn random_key(random: &mut StdRng) -> Vec<u8> {
    key(random.random_range(0..KEYS))
}

/// Few ranges are large, and some have no end.
fn random_range(random: &mut StdRng) -> KeyRange {
    let start = random.random_range(0..KEYS);
    match random.random_range(0..40) {
        0 => KeyRange::all(),
        1 => KeyRange {
            start: key(start),
            end: None,
        },
        _ => KeyRange::new(key(start), key(start + random.random_range(0..30))),
    }
}

/// A batch of random changes, which are applied to the model too.
fn random_batch(random: &mut StdRng, model: &mut Model) -> Batch {
    let mut batch = Batch::new();
    // Old keys are deleted one by one, as from a queue.
    let oldest = model.keys().next().cloned();
    for _ in 0..random.random_range(1..6) {
        match (random.random_range(0..10), &oldest) {
            (0, _) => {
                let range = random_range(random);
                model.retain(|key, _| !range.contains(key));
                batch.delete_range(range);
            }
            (1..4, Some(oldest)) => {
                model.remove(oldest);
                batch.delete(oldest.clone());
            }
            (4, _) => {
                let key = random_key(random);
                model.remove(&key);
                batch.delete(key);
            }
            _ => {
                let (key, value) = (random_key(random), vec![random.random(); 20]);
                model.insert(key.clone(), value.clone());
                batch.put(key, value);
            }
        }
    }
    batch
}

/// Compares a scan, which seeks somewhere after some steps.
fn check_scan(random: &mut StdRng, snapshot: &dyn Snapshot, model: &Model) {
    let range = random_range(random);
    let direction = match random.random_range(0..2) {
        0 => Direction::Forward,
        _ => Direction::Backward,
    };
    let mut cursor = snapshot.scan(&range, direction).expect("a scan");
    let mut rest = range.clone();
    let mut steps = random.random_range(0..40);
    loop {
        let end = rest.end.as_deref();
        let bounds = (
            Bound::Included(rest.start.as_slice()),
            end.map_or(Bound::Unbounded, Bound::Excluded),
        );
        let mut keys = match rest.is_empty() {
            true => {
                model.range::<[u8], _>((Bound::Excluded(&b""[..]), Bound::Excluded(&b"\0"[..])))
            }
            false => model.range::<[u8], _>(bounds),
        };
        let expected = match direction {
            Direction::Forward => keys.next(),
            Direction::Backward => keys.next_back(),
        };
        let found = cursor.next().expect("a step");
        let expected = expected.map(|(key, value)| (key.as_slice(), value.as_slice()));
        assert_eq!(found, expected, "{range:?} {direction:?}, {rest:?}");
        let Some((key, _)) = expected else { break };
        match direction {
            Direction::Forward => rest.start = [key, &[0]].concat(),
            Direction::Backward => rest.end = Some(key.to_vec()),
        }
        steps -= 1;
        if steps == 0 {
            let key = random_key(random);
            cursor.seek(&key).expect("a seek");
            rest = range.remaining_from(&key, direction);
        }
    }
}

fn check(random: &mut StdRng, driver: &dyn Driver, model: &Model) {
    let snapshot = driver.snapshot().expect("a snapshot");
    for _ in 0..3 {
        check_scan(random, &*snapshot, model);
        let key = random_key(random);
        let found = snapshot.get(&key).expect("a get");
        assert_eq!(found.as_deref(), model.get(&key).map(Vec::as_slice));
    }
}

/// A copy of a directory as a machine crash would leave it.
fn after_machine_crash(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    for entry in fs::read_dir(dir).expect("a directory") {
        let name = entry.expect("an entry").file_name();
        if name != "lock.mdb" && name != "journal.head" {
            fs::copy(dir.join(&name), copy.path().join(&name)).expect("a copy");
        }
    }
    copy
}

fn run(random: &mut StdRng, options: &str, operations: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut driver = opened(dir.path(), options);
    let mut model = Model::new();
    let mut held = Vec::new();
    for operation in 0..operations {
        let batch = random_batch(random, &mut model);
        driver.commit(batch).expect("a commit");
        check(random, &*driver, &model);
        match random.random_range(0..200) {
            0..4 => held.push((driver.snapshot().expect("a snapshot"), model.clone())),
            4 => driver.flush_all().expect("merged"),
            5 => {
                held.clear();
                drop(driver);
                driver = opened(dir.path(), options);
            }
            6 => {
                driver.flush().expect("flushed");
                // Segments are merged and removed meanwhile.
                if !options.contains("journal_size") {
                    let left = after_machine_crash(dir.path());
                    check(random, &*opened(left.path(), options), &model);
                }
            }
            _ => {}
        }
        if held.len() > 5 {
            held.remove(0);
        }
        for (snapshot, model) in &held {
            check_scan(random, &**snapshot, model);
        }
        if operation % 100 == 0 {
            let usage = driver.usage().expect("usage");
            assert_eq!(usage.keys, model.len() as u64);
        }
    }
    assert_eq!(driver.check().expect("a check"), []);
}

#[test]
fn it_is_what_a_map_is() {
    seed::run("removed ranges", |random| {
        for options in ["durability=relaxed", "durability=relaxed&journal_size=4K"] {
            run(random, options, 2000);
        }
    });
}

/// A segment whose rows were all deleted again changes nothing in LMDB.
#[test]
fn a_segment_without_effect_is_merged() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut driver = opened(dir.path(), "durability=relaxed");
    let mut last = driver.snapshot().expect("a snapshot").version();
    for round in 0..6 {
        let mut batch = Batch::new();
        batch.put("a", "value");
        driver.commit(batch).expect("a commit");
        let mut batch = Batch::new();
        match round % 2 {
            0 => batch.delete("a"),
            _ => batch.delete_range(KeyRange::prefix(b"a")),
        }
        let version = driver.commit(batch).expect("a commit").version;
        assert!(version > last);
        last = version;
        driver.flush_all().expect("merged");
        if round % 3 == 2 {
            drop(driver);
            driver = opened(dir.path(), "durability=relaxed");
        }
        let snapshot = driver.snapshot().expect("a snapshot");
        assert_eq!(snapshot.version(), last);
        assert_eq!(snapshot.get(b"a").expect("a get"), None);
    }
}

/// A queue is passed with few steps, however many of its keys were deleted, one by one.
#[test]
fn deleted_keys_are_passed_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), "durability=relaxed");
    for direction in [Direction::Forward, Direction::Backward] {
        let mut batch = Batch::new();
        (0..5000).for_each(|number| batch.put(key(number), "value"));
        driver.commit(batch).expect("a commit");
        driver.flush_all().expect("merged");
        let before = driver.tombstones_passed();
        for left in (1..=5000).rev() {
            let snapshot = driver.snapshot().expect("a snapshot");
            let range = KeyRange::prefix(b"key ");
            let mut cursor = snapshot.scan(&range, direction).expect("a scan");
            let first = cursor.next().expect("a step").expect("a row").0.to_vec();
            let expected = match direction {
                Direction::Forward => 5000 - left,
                Direction::Backward => left - 1,
            };
            assert_eq!(first, key(expected));
            drop(cursor);
            let mut batch = Batch::new();
            batch.delete(first);
            driver.commit(batch).expect("a commit");
        }
        let passed = driver.tombstones_passed() - before;
        assert!(passed < 5000 * 20, "{passed} for {direction:?}");
    }
}
