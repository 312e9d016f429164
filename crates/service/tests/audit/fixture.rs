//! A log on every engine, by its URL, with a clock that tests set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_keyspace::Driver;
use espalier_service::audit::{
    Appended, AuditEntry, AuditLog, AuditMode, AuditOperation, AuditOrder, AuditQuery, AuditRecord,
    AuditSequence, AuditSettings, query,
};
use espalier_store::{Clock, Timestamp};

/// The engines of this machine, two of them with caches.
pub const ENGINES: &[&str] = &[
    "memory:",
    "embedded:{dir}/audit?durability=relaxed",
    "file:{dir}/audit?durability=relaxed",
    "sqlite:{dir}/audit?durability=relaxed",
    "sqlite:{dir}/audit?durability=relaxed&policy=ram",
    "embedded:{dir}/audit?durability=relaxed&policy=cached",
];

/// 2025-03-05T12:00:00Z.
pub const NOON: Timestamp = Timestamp(1_741_176_000_000);

/// A clock that stands still unless it is set.
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(NOON.0)))
    }

    pub fn advance_ms(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }

    pub fn set(&self, time: Timestamp) {
        self.0.store(time.0, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// An engine in a temporary directory.
pub struct Fixture {
    pub driver: Arc<dyn Driver>,
    pub clock: Arc<TestClock>,
    pub dir: tempfile::TempDir,
}

impl Fixture {
    pub fn new(engine: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let url = engine.replace("{dir}", dir.path().to_str().expect("a plain path"));
        Self {
            driver: espalier_drivers::open(&url).expect(&url),
            clock: TestClock::new(),
            dir,
        }
    }

    pub fn log(&self) -> AuditLog {
        AuditLog::open(self.driver.clone(), self.clock.clone()).expect("a log")
    }

    pub fn log_in_mode(&self, mode: AuditMode) -> AuditLog {
        let log = self.log();
        let settings = AuditSettings {
            mode,
            ..AuditSettings::default()
        };
        log.set_settings(settings).expect("stored");
        log
    }

    /// All records, the oldest first.
    pub fn records(&self) -> Vec<AuditRecord> {
        all(&*self.driver, AuditQuery::default())
    }
}

/// Runs a test on every engine.
pub fn on_every_engine(test: impl Fn(Fixture)) {
    for engine in ENGINES {
        eprintln!("on {engine}");
        test(Fixture::new(engine));
    }
}

/// All records that a query selects, the oldest first.
pub fn all(driver: &dyn Driver, selected: AuditQuery) -> Vec<AuditRecord> {
    let mut records = Vec::new();
    let mut after = None;
    loop {
        let page_query = AuditQuery {
            order: AuditOrder::OldestFirst,
            after,
            ..selected.clone()
        };
        let snapshot = driver.snapshot().expect("a snapshot");
        let page = query(&*snapshot, &page_query).expect("a page");
        assert_eq!(page.unreadable, 0);
        records.extend(page.records);
        after = page.next;
        if after.is_none() {
            return records;
        }
    }
}

/// An edit by `user` with a message.
pub fn edit(user: &str, message: &str) -> AuditEntry {
    AuditEntry {
        user: Some(user.to_owned()),
        message: message.to_owned(),
        ..AuditEntry::new(AuditOperation::Edit)
    }
}

/// Appends an entry that must be recorded.
pub fn append(log: &AuditLog, entry: AuditEntry) -> AuditSequence {
    match log.append(entry).expect("appended") {
        Appended::Recorded(sequence) => sequence,
        other => panic!("{other:?}"),
    }
}
