//! What was deleted before costs nothing: an operation touches as many rows after thousands of operations, whose old rows
//! were deleted, as after hundreds. Counted are the reads and steps of cursors that reach the engine, and the marks of
//! deleted keys that the engine passes itself.
//!
//! `ESPALIER_OPERATIONS` sets the number of operations.
#![cfg(all(feature = "documents", feature = "notifications", feature = "stats"))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use espalier::documents::{Collection, Declaration};
use espalier::drivers::schemes;
use espalier::keyspace::Driver;
use espalier::keyspace::metered::{Call, Meter, Metered};
use espalier::service::audit::{
    AuditEntry, AuditLog, AuditOperation, AuditSettings, prune_step, stored_records,
};
use espalier::stats::{Granularity, Path, PathValues, Range, Settings, Stats, Timestamp, Unit};
use espalier::store::{
    Clock, ConfirmOptions, EventSettings, NewEvent, Retention, Subspace, SystemClock,
};
use espalier::{CommitOptions, Datastore, Store, Tree, json};
use espalier_testkit::servers::shared_url;

/// The operations in a measured window: enough that each has the same number of deletions of many rows at once.
const WINDOW: u64 = 128;

/// The operations before the first window: by then there is something to delete.
const WARM_UP: u64 = 256;

/// The versions, records and documents that are kept.
const KEPT: u64 = 64;

const MODULE: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  list user { key id; leaf id { type uint32; } leaf age { type uint32; } }
  notification alarm { leaf text { type string; } } }";

/// One operation of a kind, with its number.
type Operation = Box<dyn FnMut(u64)>;

/// Makes the operations of a kind on a store.
type Kind = fn(&Store) -> Operation;

const KINDS: [(&str, Kind); 9] = [
    ("the log", commit),
    ("the log, by age", commit_by_age),
    ("a candidate", edit_and_discard),
    ("confirmed commits", commit_confirmed),
    ("the event log", notify),
    ("the audit log", audit),
    ("expired buckets", track_and_expire),
    ("a queue of documents", take_oldest),
    ("a queue with one document", take_only),
];

/// A clock on which each reading takes a millisecond, so that every run is the same.
struct ReadClock(AtomicU64);

impl Clock for ReadClock {
    fn now(&self) -> espalier::store::Timestamp {
        espalier::store::Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn tree(store: &Store) -> Tree {
    espalier::tree(store, &[MODULE]).expect("a tree")
}

fn edit(tree: &Tree, number: u64) {
    let document = format!(
        r#"{{"m:user":[{{"id":{},"age":{}}}]}}"#,
        number % 10,
        number + 1
    );
    json::merge(tree, &document).expect("an edit");
}

fn commit(store: &Store) -> Operation {
    let tree = tree(store);
    let retention = Retention {
        versions: KEPT,
        age: None,
    };
    tree.set_retention(retention).expect("a retention");
    Box::new(move |number| {
        edit(&tree, number);
        if number >= WARM_UP && number % WINDOW == 0 {
            let newest = tree.history(None, 2).expect("the history")[0].version;
            assert!(tree.at(newest - KEPT / 2).is_ok());
            assert!(tree.at(newest - 2 * KEPT).is_err());
        }
    })
}

fn commit_by_age(store: &Store) -> Operation {
    let tree = tree(store);
    let retention = Retention {
        versions: u64::MAX,
        age: Some(std::time::Duration::from_millis(KEPT)),
    };
    tree.set_retention(retention).expect("a retention");
    Box::new(move |number| edit(&tree, number))
}

fn edit_and_discard(store: &Store) -> Operation {
    let candidate = tree(store).sibling_datastore(Datastore::Candidate, "");
    let candidate = candidate.expect("a candidate");
    Box::new(move |number| {
        edit(&candidate, number);
        candidate
            .discard(CommitOptions::default())
            .expect("discarded");
    })
}

fn commit_confirmed(store: &Store) -> Operation {
    let running = tree(store);
    running
        .set_retention(Retention {
            versions: KEPT,
            age: None,
        })
        .expect("a retention");
    let candidate = running.sibling_datastore(Datastore::Candidate, "");
    let candidate = candidate.expect("a candidate");
    Box::new(move |number| {
        // The values of the other operations, which have the same store on servers, are smaller.
        edit(&candidate, number + 1_000_000);
        let confirmed = ConfirmOptions {
            timeout: Some(600),
            ..ConfirmOptions::default()
        };
        let options = CommitOptions::default();
        let commit = candidate.commit_confirmed(confirmed, options);
        assert!(commit.expect("a commit").is_changed);
        match number % 2 {
            0 => candidate.commit_candidate(options),
            _ => candidate.cancel_commit(None, options),
        }
        .expect("confirmed or cancelled");
    })
}

fn notify(store: &Store) -> Operation {
    let tree = tree(store);
    let settings = EventSettings {
        records_max: KEPT,
        ..EventSettings::default()
    };
    tree.set_event_settings(&settings).expect("settings");
    Box::new(move |number| {
        let event = NewEvent {
            time: None,
            name: "m:alarm".to_owned(),
            parent: String::new(),
            content: format!(r#"{{"text":"{number}"}}"#).into_bytes(),
        };
        tree.append_events(&[event]).expect("an event");
    })
}

fn audit(store: &Store) -> Operation {
    let driver = Arc::clone(store.driver());
    let log = AuditLog::open(Arc::clone(&driver), Arc::new(SystemClock)).expect("a log");
    let settings = AuditSettings {
        records_max: KEPT,
        ..AuditSettings::default()
    };
    Box::new(move |number| {
        let entry = AuditEntry {
            message: number.to_string(),
            ..AuditEntry::new(AuditOperation::Edit)
        };
        log.append(entry).expect("a record");
        log.flush().expect("flushed");
        prune_step(&*driver, &settings, SystemClock.now()).expect("a step");
        let snapshot = driver.snapshot().expect("a snapshot");
        assert!(stored_records(&*snapshot).expect("a count") <= KEPT);
    })
}

/// A clock that an operation sets.
struct SetClock(AtomicI64);

impl espalier::stats::Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).expect("a time")
    }
}

fn track_and_expire(store: &Store) -> Operation {
    let noon: Timestamp = "2026-11-27T12:00:00Z".parse().expect("a time");
    let clock = Arc::new(SetClock(AtomicI64::new(noon.as_second())));
    let driver = Arc::clone(store.driver());
    let prefix = Subspace::Statistics.key();
    let stats = Stats::open(driver, &prefix, Arc::clone(&clock) as _).expect("statistics");
    let minute = Granularity::new(1, Unit::Minute).expect("a granularity");
    stats
        .configure(Settings {
            granularities: [minute].into(),
            retention: BTreeMap::from([(minute, 60 * KEPT)]),
            ..Settings::default()
        })
        .expect("settings");
    Box::new(move |number| {
        let now = clock.0.fetch_add(60, Ordering::Relaxed) + 60;
        let path = Path::parse("count").expect("a path");
        let now = Timestamp::from_second(now).expect("a time");
        stats
            .track("requests", now, PathValues::one(path, 1.into()))
            .expect("tracked");
        // A write removes the expired buckets of its metric; other metrics need this.
        stats.expire(|| ()).expect("expired");
        if number >= WARM_UP && number % WINDOW == 0 {
            let series = Range::new(minute, noon, now);
            let series = stats.series("requests", series).expect("a series");
            let points = series.points().iter();
            let kept = points.filter(|point| !point.values.is_empty()).count();
            // A bucket is kept for that time after its end.
            assert_eq!(kept as u64, KEPT + 1);
        }
    })
}

fn queue(store: &Store, documents: u64) -> Collection<u64> {
    let collections = espalier::documents(store);
    let queue = Declaration::<u64>::new("jobs")
        .partition("parity", |job| job % 2)
        .open(&collections)
        .expect("a collection");
    for job in 0..documents {
        queue.insert(job).expect("a document");
    }
    queue
}

fn take_first(queue: &Collection<u64>) {
    let first = queue.first_key().expect("a key").expect("a document");
    let taken = queue.delete(first).expect("deleted");
    assert!(taken.is_some());
}

fn take_oldest(store: &Store) -> Operation {
    let queue = queue(store, KEPT);
    Box::new(move |number| {
        queue.insert(number).expect("a document");
        take_first(&queue);
    })
}

fn take_only(store: &Store) -> Operation {
    let queue = queue(store, 0);
    // On servers, the collection has what the operation before left.
    while queue.first_key().expect("a key").is_some() {
        take_first(&queue);
    }
    Box::new(move |number| {
        queue.insert(number).expect("a document");
        take_first(&queue);
        assert_eq!(queue.first_key().expect("a key"), None);
    })
}

/// The number of rows, and of marks of deleted keys, that were touched so far.
fn touched(meter: &Meter, driver: &dyn Driver) -> u64 {
    let readings = meter.readings().into_iter();
    let rows =
        readings.filter(|reading| matches!(reading.call, Call::Get | Call::Scan | Call::Step));
    rows.map(|reading| reading.count).sum::<u64>() + driver.tombstones_passed()
}

fn check(url: &str) {
    check_after(url, 3000);
}

fn check_after(url: &str, operations: u64) {
    let wanted = std::env::var("ESPALIER_OPERATIONS").ok();
    let operations = wanted.map_or(operations, |count| count.parse().expect("a number"));
    for (name, kind) in KINDS {
        let dir = tempfile::tempdir().expect("a directory");
        let url = url.replace("DIR", &dir.path().display().to_string());
        let driver = Arc::new(Metered::new(espalier::drivers::open(&url).expect("opened")));
        let (meter, engine) = (driver.meter(), Arc::clone(&driver));
        let clock = Arc::new(ReadClock(AtomicU64::new(1_700_000_000_000)));
        let store = Store::open(driver, clock).expect("a store");
        let mut operation = kind(&store);
        let mut window = |numbers: std::ops::Range<u64>| {
            let before = touched(&meter, &*engine);
            numbers.for_each(&mut operation);
            touched(&meter, &*engine) - before
        };
        window(0..WARM_UP);
        let early = window(WARM_UP..WARM_UP + WINDOW);
        window(WARM_UP + WINDOW..operations - WINDOW);
        let late = window(operations - WINDOW..operations);
        println!(
            "{url}: {name}: {} rows, then {}",
            early as f64 / WINDOW as f64,
            late as f64 / WINDOW as f64
        );
        assert!(early > 0, "{url}: {name}: nothing was counted");
        assert!(
            // What a scan passes depends on when a thread merged the journal.
            late <= 2 * early,
            "{url}: {name}: {WINDOW} operations touched {early} rows, and {late} after {operations} of them"
        );
    }
}

#[test]
fn in_memory() {
    check("memory:");
}

#[cfg(feature = "embedded")]
#[test]
fn on_the_embedded_engine() {
    check("embedded:DIR?durability=relaxed");
}

/// Rows are merged into LMDB all the time.
#[cfg(feature = "embedded")]
#[test]
fn on_the_embedded_engine_with_a_small_journal() {
    check("embedded:DIR?durability=relaxed&journal_size=64K");
}

#[cfg(feature = "file")]
#[test]
fn in_files() {
    check("file:DIR?durability=relaxed");
}

#[cfg(feature = "sqlite")]
#[test]
fn on_sqlite() {
    check("sqlite:DIR/store.sqlite?durability=relaxed");
}

/// Each operation is at least one round trip, so there are fewer.
#[test]
fn on_servers() {
    let drivers = schemes().iter().map(|scheme| scheme.name);
    for url in drivers.filter_map(|driver| shared_url(driver, "")) {
        check_after(&url, 5 * WINDOW + WARM_UP);
    }
}
