//! Watches.

use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Change, Driver, KeyRange, Version, Watch, WatchEvent, counter};

use super::Open;
use super::operations::{delete, get_in, numbered, put};

/// The maximum delay of an event on any engine.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a test waits to see that no event arrives.
const QUIET_PERIOD: Duration = Duration::from_millis(60);

fn newest(driver: &dyn Driver) -> Version {
    driver.snapshot().expect("a snapshot").version()
}

fn watch(driver: &dyn Driver, range: KeyRange) -> Box<dyn Watch> {
    driver.watch(range, newest(driver)).expect("a watch")
}

fn event(watch: &mut dyn Watch) -> WatchEvent {
    let event = watch.next(EVENT_TIMEOUT).expect("a watch");
    event.expect("an event in time")
}

/// The changes of the next event, which must have this version.
fn changes(watch: &mut dyn Watch, expected: Version) -> Vec<Change> {
    match event(watch) {
        WatchEvent::Commit { version, changes } if version == expected => changes,
        other => panic!("{other:?} instead of the commit {expected:?}"),
    }
}

fn put_of(key: &[u8], value: &[u8]) -> Change {
    Change::Put {
        key: key.to_vec(),
        value: value.to_vec(),
    }
}

fn delete_of(key: &[u8]) -> Change {
    Change::Delete { key: key.to_vec() }
}

/// Each commit is reported with its version and its changes in order; sums are reported as puts.
pub fn commits_are_told_in_order(open: Open<'_>) {
    let driver = open();
    let mut watch = watch(&*driver, KeyRange::all());
    let one = put(&*driver, b"a", b"1");
    let mut batch = Batch::new();
    batch.put("b", "2");
    batch.delete("a");
    batch.add("sum", 2);
    batch.add("sum", 3);
    batch.delete("absent");
    let two = driver.commit(batch).expect("a batch").version;
    let three = driver
        .write(&[], &mut |writer| {
            writer.put(b"c", b"")?;
            writer.delete_range(&KeyRange::new("a", "c"))
        })
        .expect("a write");
    assert_eq!(changes(&mut *watch, one), [put_of(b"a", b"1")]);
    let expected = [
        put_of(b"b", b"2"),
        delete_of(b"a"),
        put_of(b"sum", &counter::encode(2)),
        put_of(b"sum", &counter::encode(5)),
    ];
    assert_eq!(changes(&mut *watch, two), expected);
    let expected = [
        put_of(b"c", b""),
        Change::DeleteRange(KeyRange::new("a", "c")),
    ];
    assert_eq!(changes(&mut *watch, three), expected);
}

/// Changes outside the range are not reported; a range deletion is clipped to the watched range.
pub fn only_the_range_is_told(open: Open<'_>) {
    let driver = open();
    let mut watch = watch(&*driver, KeyRange::prefix(b"b"));
    put(&*driver, b"a", b"");
    put(&*driver, b"c", b"");
    let mut batch = Batch::new();
    batch.put("a", "1");
    batch.put("b", "2");
    batch.put("bb", "3");
    batch.put("c", "4");
    let put_version = driver.commit(batch).expect("a batch").version;
    delete(&*driver, b"c");
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::new("a", "bb"));
    let delete_version = driver.commit(batch).expect("a range delete").version;
    let expected = [put_of(b"b", b"2"), put_of(b"bb", b"3")];
    assert_eq!(changes(&mut *watch, put_version), expected);
    let expected = [Change::DeleteRange(KeyRange::new("b", "bb"))];
    assert_eq!(changes(&mut *watch, delete_version), expected);
    assert_eq!(watch.next(QUIET_PERIOD).expect("a watch"), None);
}

/// History that is no longer kept is reported as a gap, after which the events continue.
pub fn a_forgotten_past_is_a_gap(open: Open<'_>) {
    a_past_is_told_or_a_gap(open, 40);
}

/// The same for a slow server.
pub fn a_short_past_is_told_or_a_gap(open: Open<'_>) {
    a_past_is_told_or_a_gap(open, 5);
}

fn a_past_is_told_or_a_gap(open: Open<'_>, commits: u8) {
    let driver = open();
    let start = newest(&*driver);
    let mut watch = driver.watch(KeyRange::all(), start).expect("a watch");
    let last_version = (0..commits).fold(start, |_, number| {
        put(&*driver, b"large", &vec![number; 1 << 20])
    });
    let mut seen = start;
    while seen < last_version {
        let version = match event(&mut *watch) {
            WatchEvent::Gap { version } | WatchEvent::Commit { version, .. } => version,
        };
        assert!(version > seen && version <= last_version);
        seen = version;
    }
    let version = put(&*driver, b"small", b"");
    assert_eq!(changes(&mut *watch, version), [put_of(b"small", b"")]);
}

/// A large commit may be reported as a gap; the commits before and after it are reported.
pub fn a_large_commit_is_told_or_a_gap(open: Open<'_>) {
    a_commit_is_told_or_a_gap(open, 20_000, 100);
}

/// The same for a slow server: as large, with fewer keys.
pub fn a_commit_of_long_values_is_told_or_a_gap(open: Open<'_>) {
    a_commit_is_told_or_a_gap(open, 200, 10_000);
}

fn a_commit_is_told_or_a_gap(open: Open<'_>, keys: usize, bytes: usize) {
    let driver = open();
    let mut watch = watch(&*driver, KeyRange::all());
    let before = put(&*driver, b"before", b"");
    let large = driver
        .write(&[], &mut |writer| {
            let value = vec![0; bytes];
            (0..keys as u64).try_for_each(|number| writer.put(&numbered(number), &value))
        })
        .expect("a large write");
    let after = put(&*driver, b"later", b"");
    assert_eq!(changes(&mut *watch, before), [put_of(b"before", b"")]);
    match event(&mut *watch) {
        WatchEvent::Gap { version } => assert_eq!(version, large),
        WatchEvent::Commit { version, changes } => {
            assert_eq!((version, changes.len()), (large, keys));
        }
    }
    assert_eq!(changes(&mut *watch, after), [put_of(b"later", b"")]);
}

/// A commit wakes a waiting watch long before its timeout.
pub fn a_watch_wakes_up(open: Open<'_>) {
    let driver = open();
    let mut watch = watch(&*driver, KeyRange::all());
    let watcher = thread::spawn(move || {
        let start = Instant::now();
        let event = watch.next(EVENT_TIMEOUT * 6).expect("a watch");
        (event, start.elapsed())
    });
    thread::sleep(QUIET_PERIOD);
    let version = put(&*driver, b"key", b"value");
    let (event, waited) = watcher.join().expect("the watcher");
    let changes = vec![put_of(b"key", b"value")];
    assert_eq!(event, Some(WatchEvent::Commit { version, changes }));
    assert!(waited < EVENT_TIMEOUT, "woken after {waited:?}");
}

/// Without a change, `next` returns `None` at the timeout; a commit without changes is no event.
pub fn no_event_is_none(open: Open<'_>) {
    let driver = open();
    put(&*driver, b"key", b"earlier");
    let mut watch = watch(&*driver, KeyRange::all());
    delete(&*driver, b"absent");
    let start = Instant::now();
    assert_eq!(watch.next(QUIET_PERIOD).expect("a watch"), None);
    assert!(start.elapsed() >= QUIET_PERIOD);
    assert_eq!(watch.next(Duration::ZERO).expect("a watch"), None);
}

/// When a commit is reported, a new snapshot contains it.
pub fn a_watched_state_is_visible(open: Open<'_>) {
    let driver = open();
    let mut watch = watch(&*driver, KeyRange::all());
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..100u8 {
                put(&*driver, b"key", &[number]);
            }
        });
        let mut last = 0;
        while last < 99 {
            if let WatchEvent::Commit { version, changes } = event(&mut *watch) {
                let snapshot = driver.snapshot().expect("a snapshot");
                assert!(snapshot.version() >= version);
                let Some(Change::Put { value, .. }) = changes.last() else {
                    panic!("{changes:?} is not a put");
                };
                last = value[0];
                assert!(get_in(&*snapshot, b"key").expect("the key")[0] >= last);
            }
        }
    });
}

/// A watch that starts at a snapshot and follows many concurrent committers misses no commit.
pub fn a_watcher_misses_nothing(open: Open<'_>) {
    const THREADS: u64 = 4;
    const COMMITS: u64 = 100;
    let driver = open();
    let mut watch = watch(&*driver, KeyRange::all());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let driver = &driver;
            scope.spawn(move || {
                for number in 0..COMMITS {
                    put(&**driver, &numbered(thread * COMMITS + number), b"");
                }
            });
        }
    });
    let last = newest(&*driver);
    let (mut reported, mut seen) = (0, Version::default());
    while seen < last {
        match event(&mut *watch) {
            WatchEvent::Commit { version, changes } => {
                assert!(version > seen);
                (reported, seen) = (reported + changes.len() as u64, version);
            }
            WatchEvent::Gap { version } => panic!("a gap up to {version:?}"),
        }
    }
    assert_eq!(reported, THREADS * COMMITS);
}
