//! Runs (rows that are stored packed), with random operations: each snapshot matches a map of its version, however
//! rows got into runs and out of them.
#![cfg(feature = "redis")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Change, Direction, Driver, ErrorKind, KeyRange, OperationRef, PrefetchList, Snapshot,
    Version, WatchEvent, counter,
};
use espalier_testkit::seed;
use espalier_testkit::servers::Redis;
use rand::Rng;
use rand::rngs::StdRng;

/// Steps of one run.
const STEPS: u32 = 300;

/// Snapshots that are held for a while.
const HELD: usize = 4;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

struct Run<'a> {
    random: &'a mut StdRng,
    driver: Arc<dyn Driver>,
    newest: Map,
    states: BTreeMap<Version, Map>,
    held: Vec<Box<dyn Snapshot + Send>>,
}

impl Run<'_> {
    /// One of some thousand keys, of different lengths, with bytes that have a meaning in the engine's encoding.
    fn key(&mut self) -> Vec<u8> {
        let mut key = vec![
            b'a' + self.random.random_range(0..3),
            self.random.random_range(0..=255),
        ];
        match self.random.random_range(0..8) {
            0 => key.push(0),
            1 => key.extend([0, 0xff]),
            2 => key.extend([0xff, self.random.random_range(0..4)]),
            _ => {}
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.random.random_range(0..200) {
            0 => 5000,
            1..5 => 700,
            5 => 0,
            _ => self.random.random_range(1..30),
        };
        vec![self.random.random(); length]
    }

    fn range(&mut self) -> KeyRange {
        let (one, other) = (self.key(), self.key());
        let mut range = KeyRange::new(one.clone().min(other.clone()), one.max(other));
        match self.random.random_range(0..6) {
            0 => range.end = None,
            1 => range.start.clear(),
            _ => {}
        }
        range
    }

    /// Many puts of neighbouring keys, some of which exist.
    fn load(&mut self) -> Batch {
        let mut batch = Batch::new();
        batch.hint_sequential_reads();
        let range = self.range();
        for _ in 0..self.random.random_range(64..400) {
            let key = self.key();
            if range.contains(&key) || self.random.random_ratio(1, 50) {
                batch.put(key, self.value());
            }
        }
        if self.random.random_ratio(1, 3) {
            let list = self.random.random_range(0..1000);
            for number in 0..self.random.random_range(64..900) {
                batch.put(format!("c{list:03}/{number:04}"), self.value());
            }
        }
        batch
    }

    fn edits(&mut self) -> Batch {
        let mut batch = Batch::new();
        let count = match self.random.random_range(0..6) {
            0 => self.random.random_range(100..400),
            _ => self.random.random_range(1..6),
        };
        for _ in 0..count {
            let near = self.key();
            let near = match self.newest.range(near.clone()..).next() {
                Some((key, _)) if self.random.random_ratio(2, 3) => key.clone(),
                _ => near,
            };
            match self.random.random_range(0..40) {
                0..24 => batch.put(near, self.value()),
                24..36 => batch.delete(near),
                36 => batch.delete_range(self.range()),
                37 if count < 6 => batch.delete_range(KeyRange::prefix(&near[..1])),
                _ => {
                    batch.put(near.clone(), counter::encode(5));
                    batch.add(near, 37);
                }
            }
        }
        batch
    }

    /// Adds conditions on single keys, most with the current value. Returns whether all are met.
    fn conditions(&mut self, batch: &mut Batch) -> bool {
        let mut is_met = true;
        for _ in 0..self.random.random_range(0..4) {
            let key = self.key();
            let mut held = self.newest.get(&key).cloned();
            if self.random.random_ratio(1, 20) {
                held = match held {
                    Some(_) => None,
                    None => Some(b"nothing like it".to_vec()),
                };
                is_met = false;
            }
            batch.require(key, held);
        }
        is_met
    }

    fn commit(&mut self) {
        let mut batch = match self.random.random_range(0..3) {
            0 => self.load(),
            _ => self.edits(),
        };
        let is_met = self.conditions(&mut batch);
        let next = applied(&self.newest, &batch);
        match self.driver.commit(batch) {
            Ok(committed) => {
                assert!(is_met);
                self.newest = next;
                self.states.insert(committed.version, self.newest.clone());
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                assert!(!is_met);
            }
        }
    }

    fn read(&mut self) {
        let snapshot = match self.held.len() {
            0 => self.driver.snapshot().expect("a snapshot"),
            held if self.random.random_ratio(1, 2) => {
                self.held.swap_remove(self.random.random_range(0..held))
            }
            _ => self.driver.snapshot().expect("a snapshot"),
        };
        let state = self.states[&snapshot.version()].clone();
        for _ in 0..5 {
            let key = self.key();
            let found = snapshot.get(&key).expect("a read");
            assert_eq!(found.as_deref(), state.get(&key).map(Vec::as_slice));
        }
        let many: Vec<_> = (0..40).map(|_| self.key()).collect();
        let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        let found = snapshot.get_many(&many).expect("a read");
        for (key, found) in many.iter().zip(found) {
            assert_eq!(found.as_deref(), state.get(*key).map(Vec::as_slice));
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let range = self.range();
            let found = scanned(&*snapshot, &range, direction);
            assert_eq!(found, expected_rows(&state, &range, direction));
        }
        self.held.push(snapshot);
        self.held.truncate(HELD);
    }

    /// Reads expected rows from a snapshot that prefetches them.
    fn expect(&mut self) {
        let (key, range) = (self.key(), self.range());
        let snapshot = self
            .driver
            .snapshot_with_prefetch(&|expected: &mut PrefetchList| {
                expected.key(key.clone());
                expected.range(range.clone(), 3);
            });
        let snapshot = snapshot.expect("a snapshot");
        let found = snapshot.get(&key).expect("a read");
        assert_eq!(found.as_deref(), self.newest.get(&key).map(Vec::as_slice));
        let found = scanned(&*snapshot, &range, Direction::Forward);
        assert_eq!(
            found,
            expected_rows(&self.newest, &range, Direction::Forward)
        );
    }

    fn step(&mut self) {
        match self.random.random_range(0..10) {
            0..5 => self.commit(),
            5 => self.expect(),
            6 => {
                let usage = self.driver.usage().expect("a usage");
                assert_eq!(usage.keys, self.newest.len() as u64);
                assert_eq!(self.driver.check().expect("a check"), []);
            }
            _ => self.read(),
        }
    }
}

fn applied(before: &Map, batch: &Batch) -> Map {
    let mut map = before.clone();
    for operation in batch.operations() {
        match operation {
            OperationRef::Put(key, value) => drop(map.insert(key.to_vec(), value.to_vec())),
            OperationRef::Delete(key) => drop(map.remove(key)),
            OperationRef::DeleteRange(range) => map.retain(|key, _| !range.contains(key)),
            OperationRef::Add(key, delta) => {
                let held = map.get(key).map(Vec::as_slice);
                let sum = counter::add(key, held, delta).expect("a small sum");
                map.insert(key.to_vec(), sum.to_vec());
            }
        }
    }
    map
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn scanned(snapshot: &dyn Snapshot, range: &KeyRange, direction: Direction) -> Rows {
    let mut cursor = snapshot.scan(range, direction).expect("a scan");
    let mut rows = Rows::new();
    while let Some((key, value)) = cursor.next().expect("a row") {
        rows.push((key.to_vec(), value.to_vec()));
    }
    rows
}

fn expected_rows(state: &Map, range: &KeyRange, direction: Direction) -> Rows {
    let rows = state.iter().filter(|(key, _)| range.contains(key));
    let mut rows: Rows = rows
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if direction == Direction::Backward {
        rows.reverse();
    }
    rows
}

/// Compares the changes of all commits in the log with the states.
fn follow(driver: &dyn Driver, states: &BTreeMap<Version, Map>) {
    let mut watch = driver.watch(KeyRange::all(), Version(0)).expect("a watch");
    let last = *states.keys().last().expect("a version");
    let mut map = Map::new();
    loop {
        let event = watch.next(Duration::from_secs(10)).expect("an event");
        let version = match event.expect("an event in time") {
            WatchEvent::Gap { version } => {
                map = states[&version].clone();
                version
            }
            WatchEvent::Commit { version, changes } => {
                for change in changes {
                    match change {
                        Change::Put { key, value } => drop(map.insert(key, value)),
                        Change::Delete { key } => drop(map.remove(&key)),
                        Change::DeleteRange(range) => map.retain(|key, _| !range.contains(key)),
                    }
                }
                version
            }
        };
        assert!(map == states[&version], "version {}", version.0);
        if version == last {
            return;
        }
    }
}

#[test]
fn rows_are_the_same_in_runs_and_out_of_them() {
    let Some(server) = Redis::shared() else {
        return;
    };
    let url = server.url("durability=relaxed");
    seed::run("redis_runs", |random| {
        let driver = espalier_drivers::open(&url).expect("the server is there");
        let mut run = Run {
            random,
            driver: Arc::clone(&driver),
            newest: Map::new(),
            states: BTreeMap::from([(Version(0), Map::new())]),
            held: Vec::new(),
        };
        for _ in 0..STEPS {
            run.step();
        }
        follow(&*driver, &run.states);
    });
}
