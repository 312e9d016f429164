//! Concurrent threads on one driver.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Change, Direction, Driver, Error, ErrorKind, KeyRange, OperationRef, Transact,
    WatchEvent, counter,
};

use super::Open;
use super::operations::{error_kind, get, get_in, numbered, put, put_keys, scan};

const THREADS: u64 = 8;
const COMMITS: u64 = 100;

/// Commits of a thread, for a slow server.
const COMMITS_FEW: u64 = 10;

/// The maximum delay of a watch event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// A snapshot never changes.
pub fn a_snapshot_never_changes(open: Open<'_>) {
    a_snapshot_outlives(open, 50);
}

/// The same for a slow server.
pub fn a_snapshot_outlives_five_commits(open: Open<'_>) {
    a_snapshot_outlives(open, 5);
}

fn a_snapshot_outlives(open: Open<'_>, commits: u32) {
    let driver = open();
    put_keys(&*driver, &[b"a", b"b", b"c"]);
    let snapshot = driver.snapshot().expect("a snapshot");
    let before = scan(&*snapshot, &KeyRange::all(), Direction::Forward);
    let version = snapshot.version();
    put(&*driver, b"b", b"changed");
    put(&*driver, b"bb", b"new");
    for _ in 0..commits {
        let mut batch = Batch::new();
        batch.delete_range(KeyRange::all());
        (0..200).for_each(|number| batch.put(numbered(number), vec![7; 300]));
        driver.commit(batch).expect("a commit");
    }
    assert_eq!(
        scan(&*snapshot, &KeyRange::all(), Direction::Forward),
        before
    );
    assert_eq!(get_in(&*snapshot, b"b").as_deref(), Some(&b"b"[..]));
    assert_eq!(get_in(&*snapshot, b"bb"), None);
    assert_eq!(snapshot.version(), version);
}

/// A scan during commits returns the state of its snapshot.
pub fn scans_during_commits(open: Open<'_>) {
    const KEYS: u64 = 500;
    let driver = open();
    let mut batch = Batch::new();
    (0..KEYS).for_each(|number| batch.put(numbered(number * 2), "old"));
    driver.commit(batch).expect("a batch");
    let snapshot = driver.snapshot().expect("a snapshot");
    let mut cursor = snapshot
        .scan(&KeyRange::all(), Direction::Forward)
        .expect("a scan");
    for number in 0..KEYS {
        let (key, value) = cursor.next().expect("a step").expect("a key");
        assert_eq!((key, value), (&numbered(number * 2)[..], &b"old"[..]));
        if number % 10 == 0 {
            put(&*driver, &numbered(number * 2 + 1), b"new");
            put(&*driver, &numbered((KEYS - number) * 2), b"changed");
        }
    }
    assert_eq!(cursor.next().expect("the end"), None);
}

fn in_threads(work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

/// Read, commit under a precondition, retry on conflict: no update is lost.
pub fn conflicting_commits_count_exactly(open: Open<'_>) {
    conflicting_commits_count_exactly_after(open, COMMITS);
}

/// The same for a slow server.
pub fn few_conflicting_commits_count_exactly(open: Open<'_>) {
    conflicting_commits_count_exactly_after(open, COMMITS_FEW);
}

fn conflicting_commits_count_exactly_after(open: Open<'_>, commits: u64) {
    let driver = open();
    in_threads(|thread| {
        let increment = match thread % 2 {
            0 => increment,
            _ => increment_in_transaction,
        };
        (0..commits).for_each(|_| increment(&*driver));
    });
    let count = counter::encode((THREADS * commits) as i64).to_vec();
    assert_eq!(get(&*driver, b"count"), Some(count));
}

fn increment(driver: &dyn Driver) {
    loop {
        let held = get(driver, b"count");
        let count = counter::decode(b"count", held.as_deref()).expect("a counter");
        let mut batch = Batch::new();
        batch.require("count", held);
        batch.put("count", counter::encode(count + 1));
        match driver.commit(batch) {
            Ok(_) => return,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
        }
    }
}

fn increment_in_transaction(driver: &dyn Driver) {
    let newest = || driver.snapshot_for_update(&|_| {});
    let committed = Transact::<Error>::new(driver).run(&newest, &mut |snapshot| {
        let held = snapshot.get(b"count")?.map(Cow::into_owned);
        let count = counter::decode(b"count", held.as_deref())?;
        let mut batch = Batch::new();
        batch.require("count", held);
        batch.put("count", counter::encode(count + 1));
        Ok((batch, ()))
    });
    committed.expect("a commit");
}

/// Adds need no precondition, and none is lost; commits and streamed writes are mixed.
pub fn adds_count_exactly(open: Open<'_>) {
    adds_count_exactly_after(open, COMMITS);
}

/// The same for a slow server.
pub fn few_adds_count_exactly(open: Open<'_>) {
    adds_count_exactly_after(open, COMMITS_FEW);
}

fn adds_count_exactly_after(open: Open<'_>, commits: u64) {
    let driver = open();
    in_threads(|thread| {
        for number in 0..commits {
            if (thread + number) % 10 == 0 {
                driver
                    .write(&[], &mut |writer| writer.add(b"count", 1))
                    .expect("a write");
            } else {
                let mut batch = Batch::new();
                batch.add("count", 1);
                driver.commit(batch).expect("an add");
            }
        }
    });
    let count = counter::encode((THREADS * commits) as i64).to_vec();
    assert_eq!(get(&*driver, b"count"), Some(count));
}

/// The batch that `commit` returns equals the reported changes of its version, and the returned
/// previous version is correct, also with concurrent commits.
pub fn a_step_is_all_between_two_versions(open: Open<'_>) {
    let driver = open();
    let first = put(&*driver, b"same", b"same");
    let mut watch = driver.watch(KeyRange::all(), first).expect("a watch");
    let steps = Mutex::new(Vec::new());
    in_threads(|thread| {
        for number in 0..COMMITS_FEW {
            let key = [numbered(thread), numbered(number)].concat();
            let mut batch = Batch::new();
            match number % 4 {
                0 => batch.put(key, "new"),
                1 => batch.put("same", "same"),
                2 => batch.add("count", 1),
                _ => batch.delete(key),
            }
            let committed = driver.commit(batch).expect("a commit");
            if let Some(step) = committed.step {
                let mut steps = steps.lock().expect("no panic");
                steps.push((step.from, committed.version, step.batch));
            }
        }
    });
    let last = put(&*driver, b"last", b"last");
    let mut reported = BTreeMap::new();
    while reported
        .last_key_value()
        .is_none_or(|(reported, _)| *reported < last)
    {
        match watch
            .next(EVENT_TIMEOUT)
            .expect("an event")
            .expect("in time")
        {
            WatchEvent::Commit { version, changes } => reported.insert(version, Some(changes)),
            WatchEvent::Gap { version } => reported.insert(version, None),
        };
    }
    let steps = steps.into_inner().expect("no panic");
    for (from, version, batch) in steps {
        let change = reported.get(&version).expect("a reported version");
        if let Some(changes) = change {
            assert_reported(&batch, changes);
        }
        let before = reported.range(..version).next_back();
        let before = before.map_or(first, |(version, _)| *version);
        assert_eq!(from, before, "the version before {version:?}");
    }
}

/// Every operation is reported in order, except deletions of absent keys.
fn assert_reported(batch: &Batch, changes: &[Change]) {
    let mut changes = changes.iter().peekable();
    for operation in batch.operations() {
        let is_reported = changes.next_if(|change| match (operation, change) {
            (
                OperationRef::Put(key, value),
                Change::Put {
                    key: reported,
                    value: held,
                },
            ) => (key, value) == (&reported[..], &held[..]),
            (OperationRef::Add(key, _), Change::Put { key: reported, .. })
            | (OperationRef::Delete(key), Change::Delete { key: reported }) => key == reported,
            _ => false,
        });
        let may_be_omitted = matches!(operation, OperationRef::Delete(_));
        assert!(is_reported.is_some() || may_be_omitted, "{operation:?}");
    }
    assert_eq!(changes.next(), None, "more than {batch:?}");
}

/// Commits that are applied as a group are rejected one by one.
pub fn a_failing_commit_fails_alone(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"high", &counter::encode(i64::MAX));
    in_threads(|thread| {
        for number in 0..COMMITS {
            let key = numbered(thread * COMMITS + number);
            let mut batch = Batch::new();
            batch.put(key.clone(), "value");
            match (thread + number) % 3 {
                0 => batch.add("high", 1),
                1 => batch.require("high", None),
                _ => {
                    driver.commit(batch).expect("the batch is valid");
                    assert!(get(&*driver, &key).is_some());
                    continue;
                }
            }
            let kind = error_kind(driver.commit(batch));
            assert!(matches!(kind, ErrorKind::Overflow | ErrorKind::Conflict));
            assert_eq!(get(&*driver, &key), None);
        }
    });
}

/// A snapshot can be created on one thread and read on another.
pub fn snapshots_move_between_threads(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"key", b"value");
    let snapshots: Vec<_> = (0..50)
        .map(|_| driver.snapshot().expect("a snapshot"))
        .collect();
    put(&*driver, b"key", b"changed");
    let readers: Vec<_> = snapshots
        .into_iter()
        .map(|snapshot| thread::spawn(move || get_in(&*snapshot, b"key")))
        .collect();
    for reader in readers {
        let value = reader.join().expect("a reader");
        assert_eq!(value.as_deref(), Some(&b"value"[..]));
    }
}

/// Readers see all of a batch or none of it, and never an older state than before.
pub fn readers_see_whole_batches(open: Open<'_>) {
    readers_see_whole_batches_after(open, COMMITS);
}

/// The same for a slow server.
pub fn readers_see_few_whole_batches(open: Open<'_>) {
    readers_see_whole_batches_after(open, COMMITS_FEW);
}

fn readers_see_whole_batches_after(open: Open<'_>, commits: u64) {
    const KEYS: u64 = 20;
    let driver = open();
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (driver, done) = (Arc::clone(&driver), Arc::clone(&done));
            thread::spawn(move || {
                let mut last = (driver.snapshot().expect("a snapshot").version(), Vec::new());
                while !done.load(Ordering::Acquire) {
                    let snapshot = driver.snapshot().expect("a snapshot");
                    let pairs = scan(&*snapshot, &KeyRange::all(), Direction::Forward);
                    assert!(pairs.is_empty() || pairs.len() as u64 == KEYS);
                    let values: Vec<_> = pairs.into_iter().map(|(_, value)| value).collect();
                    assert!(
                        values.windows(2).all(|pair| pair[0] == pair[1]),
                        "a torn batch"
                    );
                    let state = (snapshot.version(), values);
                    assert!(state >= last, "a reader saw an older state than before");
                    last = state;
                }
            })
        })
        .collect();
    for round in 0..commits {
        let mut batch = Batch::new();
        (0..KEYS).for_each(|number| batch.put(numbered(number), round.to_be_bytes()));
        driver.commit(batch).expect("a batch");
    }
    done.store(true, Ordering::Release);
    for reader in readers {
        reader.join().expect("a reader");
    }
}
