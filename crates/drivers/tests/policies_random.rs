//! Memory policies over an engine with random faults: each snapshot is a state that the engine had, and never older
//! than an earlier snapshot or an own commit.
#![cfg(feature = "memory")]

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_drivers::under_policy;
use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, Result, Snapshot, Version};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Steps of one run.
const STEPS: u32 = 400;

/// The sites of faults, with their errors.
const FAULTS: [(Site, ErrorKind); 8] = [
    (Site::Snapshot, ErrorKind::Unavailable),
    (Site::Watch, ErrorKind::Unavailable),
    (Site::Get, ErrorKind::SnapshotTooOld),
    (Site::Scan, ErrorKind::Unavailable),
    (Site::Step, ErrorKind::SnapshotTooOld),
    (Site::Commit, ErrorKind::Unavailable),
    (Site::Commit, ErrorKind::Conflict),
    (Site::AfterCommit, ErrorKind::OutcomeUnknown),
];

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

struct Run<'a> {
    random: &'a mut StdRng,
    engine: Arc<dyn Driver>,
    faulty: Arc<Faulty>,
    driver: Arc<dyn Driver>,
    /// The content of the engine at each version.
    states: BTreeMap<Version, Map>,
    /// No later snapshot may be older.
    floor: Version,
    /// Whether reads may be older than the engine.
    is_local: bool,
    /// Snapshots that are held for a while.
    held: Vec<Box<dyn Snapshot + Send>>,
}

fn all(snapshot: &dyn Snapshot) -> Result<Map> {
    let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
    let mut map = Map::new();
    while let Some((key, value)) = cursor.next()? {
        map.insert(key.to_vec(), value.to_vec());
    }
    Ok(map)
}

impl Run<'_> {
    fn key(&mut self) -> Vec<u8> {
        vec![b'k', self.random.random_range(0..30)]
    }

    fn batch(&mut self) -> Batch {
        let mut batch = Batch::new();
        for _ in 0..self.random.random_range(1..5) {
            match self.random.random_range(0..20) {
                0..14 => {
                    let length = match self.random.random_range(0..60) {
                        // Too large for a watch to report.
                        0 => 1_100_000,
                        1..10 => 400,
                        _ => 5,
                    };
                    batch.put(self.key(), vec![self.random.random(); length]);
                }
                14..18 => batch.delete(self.key()),
                18 => batch.delete_range(KeyRange::new(self.key(), self.key())),
                _ => batch.add("sum", 1),
            }
        }
        batch
    }

    /// Records the current content of the engine.
    fn record_state(&mut self) {
        let snapshot = self.engine.snapshot().expect("memory does not fail");
        let state = all(&*snapshot).expect("memory does not fail");
        self.states.insert(snapshot.version(), state);
    }

    fn step(&mut self) {
        match self.random.random_range(0..10) {
            0..3 => {
                let batch = self.batch();
                self.engine.commit(batch).expect("memory does not fail");
                self.record_state();
            }
            3..5 => {
                let batch = self.batch();
                if let Ok(committed) = self.driver.commit(batch) {
                    self.floor = self.floor.max(committed.version);
                }
                self.record_state();
            }
            5 => {
                let (site, kind) = *FAULTS.choose(self.random).expect("a fault");
                self.faulty.arm(Fault {
                    sites: vec![site],
                    after: self.random.random_range(0..4),
                    lasting: Lasting::Once,
                    kind,
                });
            }
            6 => {
                self.held.truncate(3);
                self.held.extend(self.driver.snapshot());
            }
            _ => self.read(),
        }
    }

    /// Checks whether a new snapshot is current. If it is not, the next one has to be.
    fn check_current(&mut self) {
        let Ok(snapshot) = self.driver.snapshot() else {
            return;
        };
        let newest = self.engine.snapshot().expect("memory does not fail");
        if let Ok(is_current) = self.driver.is_current(snapshot.version()) {
            assert_eq!(is_current, snapshot.version() == newest.version());
            self.floor = newest.version();
        }
    }

    /// Reads everything, or a few keys, from a new snapshot or from one that is held.
    fn read(&mut self) {
        if !self.is_local || (self.random.random_ratio(1, 3) && self.driver.catch_up().is_ok()) {
            let newest = self.engine.snapshot().expect("memory does not fail");
            self.floor = newest.version();
        }
        if self.is_local && self.random.random_ratio(1, 3) {
            self.check_current();
        }
        if let Ok(snapshot) = self.driver.snapshot() {
            assert!(
                snapshot.version() >= self.floor,
                "version {:?} after {:?}",
                snapshot.version(),
                self.floor
            );
            self.floor = snapshot.version();
            self.held.insert(0, snapshot);
        }
        let (keys, reads_all) = ([(); 5].map(|()| self.key()), self.random.random());
        let Some(snapshot) = self.held.choose(self.random) else {
            return;
        };
        let expected = &self.states[&snapshot.version()];
        for key in &keys {
            if let Ok(value) = snapshot.get(key) {
                assert_eq!(value.as_deref(), expected.get(key).map(Vec::as_slice));
            }
        }
        if reads_all && let Ok(found) = all(&**snapshot) {
            assert!(
                found == *expected,
                "another state at {:?}",
                snapshot.version()
            );
        }
    }
}

fn run(options: &str) {
    seed::run("the policy test", |random| {
        let engine = espalier_drivers::open("memory:").expect("memory opens");
        let faulty = Arc::new(Faulty::new(Arc::clone(&engine)));
        let over = Arc::clone(&faulty) as Arc<dyn Driver>;
        let driver = under_policy(over, options).expect("a policy");
        let mut run = Run {
            random,
            engine,
            faulty,
            driver,
            states: BTreeMap::new(),
            floor: Version::default(),
            is_local: options.contains("policy=cached") && !options.contains("linearizable"),
            held: Vec::new(),
        };
        run.record_state();
        (0..STEPS).for_each(|_| run.step());
        run.faulty.disarm();
        let start = std::time::Instant::now();
        loop {
            let snapshot = run.driver.snapshot().expect("nothing fails any more");
            let newest = run.engine.snapshot().expect("a snapshot").version();
            if snapshot.version() == newest {
                assert!(all(&*snapshot).expect("a scan") == run.states[&newest]);
                break;
            }
            assert!(start.elapsed().as_secs() < 60, "it never catches up");
        }
    });
}

#[test]
fn cached_among_faults() {
    run("policy=cached&staleness_ms=20000");
}

#[test]
fn cached_and_linearizable_among_faults() {
    run("policy=cached&staleness_ms=20000&read=linearizable");
}

#[test]
fn recent_among_faults() {
    run("policy=recent&cache_bytes=4K");
    run("policy=recent");
}

#[test]
fn indexed_among_faults() {
    run("policy=indexed&value_bytes=100");
}
