//! The test fixture: statistics on every engine of the workspace, by its URL.
#![allow(dead_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use espalier_keyspace::Driver;
use espalier_stats::{Clock, Nested, Number, Packed, Path, Settings, Stats, Timestamp};
use espalier_testkit::servers::{shared_among, shared_url};

/// The engines of this machine. `{dir}` is replaced by the directory of the test.
pub const ENGINES: &[&str] = &[
    "memory:",
    "embedded:{dir}/stats?durability=relaxed",
    "file:{dir}/stats?durability=relaxed",
    "sqlite:{dir}/stats?durability=relaxed",
];

/// The key range that is registered for statistics.
pub const PREFIX: &[u8] = &[0x20];

/// A clock that is set by tests.
#[derive(Default)]
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn set(&self, second: i64) {
        self.0.store(second, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).expect("a time")
    }
}

/// An engine that can be closed and reopened.
pub struct Place {
    url: String,
    dir: tempfile::TempDir,
    driver: Option<Arc<dyn Driver>>,
    pub clock: Arc<TestClock>,
}

impl Place {
    pub fn new(engine: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let url = shared_url(engine, "").unwrap_or_else(|| {
            let dir = dir.path().to_str().expect("a plain path");
            engine.replace("{dir}", dir)
        });
        Self {
            driver: Some(espalier_drivers::open(&url).expect(&url)),
            url,
            dir,
            clock: Arc::new(TestClock::default()),
        }
    }

    /// Closes the engine and reopens it; data in memory only stays.
    pub fn restart(&mut self, stats: &mut Stats) {
        if self.driver().capability().durable {
            // Releases the engine, because some can be opened only once.
            let memory = espalier_drivers::open("memory:").expect("memory");
            *stats = Stats::open(memory, PREFIX, self.clock.clone()).expect("empty statistics");
            self.driver = None;
            self.driver = Some(espalier_drivers::open(&self.url).expect(&self.url));
        }
        *stats = self.stats();
    }

    /// Closes the engine, so that others can open it by this URL.
    pub fn closed_url(&mut self) -> String {
        self.driver = None;
        self.url.clone()
    }

    pub fn driver(&self) -> Arc<dyn Driver> {
        Arc::clone(self.driver.as_ref().expect("open"))
    }

    pub fn stats(&self) -> Stats {
        Stats::open(self.driver(), PREFIX, self.clock.clone()).expect(&self.url)
    }

    pub fn stats_with(&self, change: impl FnOnce(&mut Settings)) -> Stats {
        let stats = self.stats();
        let mut settings = Settings::default();
        change(&mut settings);
        stats.configure(settings).expect("new settings");
        stats
    }
}

/// The engines, and the servers that this build supports and this run provides, by the names of their
/// drivers.
pub fn engines() -> Vec<&'static str> {
    [ENGINES, &shared_among(schemes())].concat()
}

/// The names of the drivers in this build.
pub fn schemes() -> impl Iterator<Item = &'static str> {
    espalier_drivers::schemes().iter().map(|scheme| scheme.name)
}

/// Runs a test on every engine.
pub fn on_every_engine(test: impl Fn(&mut Place)) {
    for engine in engines() {
        eprintln!("on {engine}");
        test(&mut Place::new(engine));
    }
}

pub fn time(text: &str) -> Timestamp {
    text.parse().expect(text)
}

pub fn packed(json: &str) -> Packed {
    Nested::from_json(json).expect(json).pack().expect(json)
}

pub fn json(values: &Packed) -> String {
    serde_json::to_string(&Nested::unpack(values)).expect("JSON")
}

pub fn path(text: &str) -> Path {
    Path::parse(text).expect(text)
}

pub fn number(text: &str) -> Number {
    text.parse().expect(text)
}
