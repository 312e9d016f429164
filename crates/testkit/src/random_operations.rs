//! Random operations on a driver, compared with a `BTreeMap`, including the events of a watch.
//!
//! A run is a function of its seed: `ESPALIER_SEED` repeats one, `ESPALIER_OPERATIONS` sets its length.
//! Keys come from a small set, so that operations often affect the same keys.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{
    Batch, Change, Direction, Driver, Error, ErrorKind, KeyExisted, KeyRange, Operation,
    Precondition, Snapshot, Version, Watch, WatchEvent, Writer, counter,
};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::conformance::Open;
use crate::seed;

/// The variable that sets the number of operations of a run.
pub const OPERATIONS_VARIABLE: &str = "ESPALIER_OPERATIONS";

/// Default number of operations.
const OPERATIONS: u64 = 1_000;

/// Default for a slow server.
const OPERATIONS_FEW: u64 = 150;

/// The maximum delay of a watch event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(20);

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Runs random operations on the engine and panics at the first difference from the model.
pub fn run(open: Open<'_>) {
    run_operations(open, OPERATIONS);
}

/// The same with fewer operations, for a slow server.
pub fn run_few(open: Open<'_>) {
    run_operations(open, OPERATIONS_FEW);
}

fn run_operations(open: Open<'_>, operations: u64) {
    let operations = seed::number_from_environment(OPERATIONS_VARIABLE).unwrap_or(operations);
    seed::run("the model test", |random| {
        let mut run = Run::new(open, random);
        (0..operations).for_each(|_| run.step());
        run.compare_all();
    });
}

struct Run<'a> {
    open: Open<'a>,
    random: &'a mut StdRng,
    /// `None` only while it is reopened.
    driver: Option<Arc<dyn Driver>>,
    model: Map,
    /// Held snapshots, with their expected content.
    held: Vec<(Box<dyn Snapshot + Send>, Map)>,
    /// A watch of everything; `None` only while the driver is reopened.
    replica: Option<WatchReplica>,
}

/// A watch with its applied events.
struct WatchReplica {
    watch: Box<dyn Watch>,
    version: Version,
    map: Map,
}

impl<'a> Run<'a> {
    fn new(open: Open<'a>, random: &'a mut StdRng) -> Self {
        let driver = open();
        Self {
            open,
            random,
            replica: Some(WatchReplica::new(&*driver, Map::new())),
            driver: Some(driver),
            model: Map::new(),
            held: Vec::new(),
        }
    }

    fn driver(&self) -> Arc<dyn Driver> {
        Arc::clone(self.driver.as_ref().expect("the driver is open"))
    }

    fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..40 => self.commit(),
            40..55 => self.write(),
            55..70 => self.compare_keys(),
            70..88 => self.compare_scan(),
            88..93 => self.hold_snapshot(),
            93..98 => self.release_snapshot(),
            98 => self.compare_all(),
            _ => self.reopen(),
        }
    }

    fn commit(&mut self) {
        let preconditions = self.preconditions();
        let operations = self.operations();
        let mut batch = Batch::new();
        for condition in &preconditions {
            batch.require(condition.key.clone(), condition.value.clone());
        }
        operations
            .iter()
            .for_each(|operation| batch.push(operation.clone()));
        let expected = apply(&self.model, &preconditions, &operations);
        let version = self.driver().snapshot().expect("a snapshot").version();
        match (self.driver().commit(batch), expected) {
            (Ok(new), Ok(model)) => {
                assert!(new.version >= version);
                self.model = model;
            }
            (Err(error), Err(kind)) => assert_eq!(error.kind(), kind, "{error}"),
            (found, expected) => panic!(
                "{operations:?} under {preconditions:?}: {found:?} instead of {:?}",
                expected.map(drop)
            ),
        }
    }

    fn write(&mut self) {
        let preconditions = self.preconditions();
        let operations = self.operations();
        let aborts = self.random.random_ratio(1, 5);
        let reads_own_changes = self.random.random_ratio(1, 5);
        let applied = apply(&self.model, &preconditions, &operations);
        let mut expected = applied.clone();
        if aborts && expected.is_ok() {
            expected = Err(ErrorKind::Aborted);
        }
        let written = self.driver().write(&preconditions, &mut |writer| {
            operations
                .iter()
                .try_for_each(|operation| write_operation(writer, operation))?;
            if let (true, Ok(model)) = (reads_own_changes, &applied) {
                compare_snapshot(&*writer.snapshot()?, model);
            }
            if aborts {
                return Err(Error::new(ErrorKind::Aborted, "the model gives up"));
            }
            Ok(())
        });
        match (written, expected) {
            (Ok(_), Ok(model)) => self.model = model,
            (Err(error), Err(kind)) => assert_eq!(error.kind(), kind, "{error}"),
            (found, expected) => panic!("{found:?} instead of {:?}", expected.map(drop)),
        }
    }

    fn preconditions(&mut self) -> Vec<Precondition> {
        let count = self.random.random_range(0..3);
        let conditions = (0..count).map(|_| {
            let key = self.key();
            let value = match self.random.random_ratio(9, 10) {
                true => self.model.get(&key).cloned(),
                false => Some(self.value()),
            };
            Precondition { key, value }
        });
        conditions.collect()
    }

    fn operations(&mut self) -> Vec<Operation> {
        let count = match self.random.random_range(0..50) {
            0 => self.random.random_range(0..2_000),
            1 => return self.bulk_load(),
            _ => self.random.random_range(0..8),
        };
        (0..count).map(|_| self.operation()).collect()
    }

    /// A bulk load: mostly puts of many keys.
    fn bulk_load(&mut self) -> Vec<Operation> {
        let count = self.random.random_range(500..2_000);
        let puts = (0..count).map(|_| Operation::Put {
            key: self.key(),
            value: self.value(),
        });
        let mut operations: Vec<_> = puts.collect();
        for _ in 0..self.random.random_range(0..3) {
            let at = self.random.random_range(0..operations.len());
            operations[at] = self.operation();
        }
        operations
    }

    fn operation(&mut self) -> Operation {
        match self.random.random_range(0..20) {
            0..11 => Operation::Put {
                key: self.key(),
                value: self.value(),
            },
            11..15 => Operation::Delete { key: self.key() },
            15..17 => Operation::DeleteRange(self.narrow_range()),
            _ => Operation::Add {
                key: self.counter_key(),
                delta: match self.random.random_ratio(1, 40) {
                    true => self.random.random(),
                    false => self.random.random_range(-1000..1000),
                },
            },
        }
    }

    fn key(&mut self) -> Vec<u8> {
        let alphabet = [0, 1, b'a', b'b', 0xfe, 0xff];
        match self.random.random_range(0..30) {
            0 => {
                let mut key = vec![b'l'; espalier_keyspace::KEY_BYTES_MAX - 1];
                key.push(self.random.random_range(0..4));
                key
            }
            _ => {
                let length = self.random.random_range(1..6);
                let mut letter = || *alphabet.choose(self.random).expect("letters");
                (0..length).map(|_| letter()).collect()
            }
        }
    }

    fn counter_key(&mut self) -> Vec<u8> {
        vec![b'#', self.random.random_range(0..6)]
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.random.random_range(0..40) {
            0 => self.random.random_range(0..20_000),
            1..4 => 0,
            _ => self.random.random_range(0..100),
        };
        vec![self.random.random(); length]
    }

    fn narrow_range(&mut self) -> KeyRange {
        match self.random.random_range(0..12) {
            0 => self.range(),
            1..4 => KeyRange::strictly_below(&self.key()),
            _ => KeyRange::prefix(&self.key()),
        }
    }

    fn range(&mut self) -> KeyRange {
        let mut start = self.key();
        if self.random.random_ratio(1, 6) {
            start.clear();
        }
        let end = self.random.random_ratio(4, 5).then(|| self.key());
        KeyRange { start, end }
    }

    fn compare_keys(&mut self) {
        let snapshot = self.driver().snapshot().expect("a snapshot");
        for _ in 0..10 {
            let key = self.key();
            let found = snapshot.get(&key).expect("a get");
            assert_eq!(found.as_deref(), self.model.get(&key).map(Vec::as_slice));
        }
    }

    fn compare_scan(&mut self) {
        let (range, place) = (self.range(), self.key());
        let snapshot = self.driver().snapshot().expect("a snapshot");
        for direction in [Direction::Forward, Direction::Backward] {
            let expected = select(&self.model, &range, direction);
            compare_cursor(&*snapshot, &range, direction, None, &expected);
            let rest: Vec<_> = expected
                .into_iter()
                .filter(|(key, _)| match direction {
                    Direction::Forward => *key >= place.as_slice(),
                    Direction::Backward => *key <= place.as_slice(),
                })
                .collect();
            compare_cursor(&*snapshot, &range, direction, Some(&place), &rest);
        }
    }

    fn compare_all(&mut self) {
        let driver = self.driver();
        let snapshot = driver.snapshot().expect("a snapshot");
        compare_snapshot(&*snapshot, &self.model);
        assert_eq!(driver.check().expect("a check"), []);
        let usage = driver.usage().expect("usage");
        assert_eq!(usage.keys, self.model.len() as u64);
        let replica = self.replica.as_mut().expect("there is a watch");
        replica.follow(snapshot.version(), &self.model);
        assert_eq!(replica.map, self.model, "the reported changes");
    }

    fn hold_snapshot(&mut self) {
        let snapshot = self.driver().snapshot().expect("a snapshot");
        self.held.push((snapshot, self.model.clone()));
    }

    fn release_snapshot(&mut self) {
        if !self.held.is_empty() {
            let at = self.random.random_range(0..self.held.len());
            let (snapshot, model) = self.held.swap_remove(at);
            compare_snapshot(&*snapshot, &model);
        }
    }

    fn reopen(&mut self) {
        while !self.held.is_empty() {
            self.release_snapshot();
        }
        if self.driver().capability().durable {
            self.replica = None;
            self.driver = None;
            let driver = (self.open)();
            self.replica = Some(WatchReplica::new(&*driver, self.model.clone()));
            self.driver = Some(driver);
            self.compare_all();
        }
    }
}

impl WatchReplica {
    fn new(driver: &dyn Driver, map: Map) -> Self {
        let version = driver.snapshot().expect("a snapshot").version();
        let watch = driver.watch(KeyRange::all(), version);
        Self {
            watch: watch.expect("a watch"),
            version,
            map,
        }
    }

    /// Applies the events up to a version, whose state is the model.
    fn follow(&mut self, version: Version, model: &Map) {
        // Events after a gap are applied to the newest state, so they may have no effect.
        let mut is_exact = true;
        while self.version < version {
            let event = self.watch.next(EVENT_TIMEOUT).expect("a watch");
            match event.expect("a commit is reported") {
                WatchEvent::Commit { version, changes } => {
                    assert!(self.version < version, "versions are reported in order");
                    self.version = version;
                    for change in changes {
                        let had_effect = self.apply(change.clone());
                        assert!(had_effect || !is_exact, "{change:?} has no effect");
                    }
                }
                WatchEvent::Gap { version } => {
                    self.version = version;
                    self.map.clone_from(model);
                    is_exact = false;
                }
            }
        }
    }

    /// Applies a change. Returns whether it had an effect or is exempt: if a batch clears a range twice, an
    /// engine may not know that the second deletion had nothing to delete.
    fn apply(&mut self, change: Change) -> bool {
        match change {
            Change::Put { key, value } => {
                self.map.insert(key, value);
                true
            }
            Change::Delete { key } => self.map.remove(&key).is_some(),
            Change::DeleteRange(range) => {
                self.map.retain(|key, _| !range.contains(key));
                true
            }
        }
    }
}

/// The model after a batch, or the kind of the expected error.
fn apply(
    model: &Map,
    preconditions: &[Precondition],
    operations: &[Operation],
) -> Result<Map, ErrorKind> {
    let holds = |condition: &Precondition| model.get(&condition.key) == condition.value.as_ref();
    if !preconditions.iter().all(holds) {
        return Err(ErrorKind::Conflict);
    }
    let mut next = model.clone();
    for operation in operations {
        match operation {
            Operation::Put { key, value } => drop(next.insert(key.clone(), value.clone())),
            Operation::Delete { key } => drop(next.remove(key)),
            Operation::DeleteRange(range) => next.retain(|key, _| !range.contains(key)),
            Operation::Add { key, delta } => {
                let stored = next.get(key).map(Vec::as_slice);
                let sum = counter::add(key, stored, *delta).map_err(|error| error.kind())?;
                next.insert(key.clone(), sum.to_vec());
            }
        }
    }
    Ok(next)
}

fn write_operation(writer: &mut dyn Writer, operation: &Operation) -> Result<(), Error> {
    match operation {
        Operation::Put { key, value } if value.len() % 7 == 3 => write_put_new(writer, key, value),
        Operation::Put { key, value } => writer.put(key, value),
        Operation::Delete { key } => writer.delete(key),
        Operation::DeleteRange(range) => writer.delete_range(range),
        Operation::Add { key, delta } => writer.add(key, *delta),
    }
}

/// A put by means of `put_new`.
fn write_put_new(writer: &mut dyn Writer, key: &[u8], value: &[u8]) -> Result<(), Error> {
    let was_there = writer.get(key)?.is_some();
    let existed = writer.put_new(key, value)?;
    assert_eq!(existed == KeyExisted::Yes, was_there);
    writer.put(key, value)?;
    assert_eq!(writer.get(key)?.as_deref(), Some(value));
    Ok(())
}

fn select<'a>(model: &'a Map, range: &KeyRange, direction: Direction) -> Vec<(&'a [u8], &'a [u8])> {
    if range.is_empty() {
        return Vec::new();
    }
    let pairs = model
        .range::<[u8], _>(range.bounds())
        .map(|(key, value)| (key.as_slice(), value.as_slice()));
    match direction {
        Direction::Forward => pairs.collect(),
        Direction::Backward => pairs.rev().collect(),
    }
}

fn compare_snapshot(snapshot: &dyn Snapshot, model: &Map) {
    let all = KeyRange::all();
    for direction in [Direction::Forward, Direction::Backward] {
        let expected = select(model, &all, direction);
        compare_cursor(snapshot, &all, direction, None, &expected);
    }
}

fn compare_cursor(
    snapshot: &dyn Snapshot,
    range: &KeyRange,
    direction: Direction,
    place: Option<&[u8]>,
    expected: &[(&[u8], &[u8])],
) {
    let mut cursor = snapshot.scan(range, direction).expect("a scan");
    if let Some(place) = place {
        cursor.next().expect("a step before the seek");
        cursor.seek(place).expect("a seek");
    }
    for pair in expected {
        let found = cursor.next().expect("a step");
        assert_eq!(found, Some(*pair), "{range:?} {direction:?} {place:?}");
    }
    assert_eq!(cursor.next().expect("the end"), None);
}
