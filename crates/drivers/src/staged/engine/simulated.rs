//! An in-memory cell store for tests, with small transactions and lost responses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Direction, Driver, Error, ErrorKind, KeyRange, Result, counter};
use espalier_testkit::seed;
use parking_lot::{Condvar, Mutex};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::cell_store::{
    Bounds, Cell, CellStore, Failure, Follow, Followed, Guard, Read, ReadResult, Write,
};
use crate::staged::StagedDriver;

/// The values of a cell, oldest first: the revision that wrote it, the revision that created it, and the
/// value; `None` for a deletion.
type History = Vec<(u64, u64, Option<Vec<u8>>)>;

#[derive(Default)]
struct Engine {
    revision: u64,
    cells: BTreeMap<Vec<u8>, History>,
    /// Requests that were lost, and may be applied later.
    late: Vec<(Vec<Guard>, Vec<Write>)>,
    /// Decides randomly about responses, if set.
    chance: Option<StdRng>,
    /// Number of transactions that are still applied, if set.
    left: Option<u32>,
}

#[derive(Clone, Default)]
struct Simulated {
    engine: Arc<(Mutex<Engine>, Condvar)>,
}

impl Engine {
    fn at(&self, key: &[u8], revision: u64) -> Option<Cell> {
        let history = self.cells.get(key)?;
        let last = history.partition_point(|(written, ..)| *written <= revision);
        let (modified, created, value) = history.get(last.checked_sub(1)?)?;
        let value = value.clone()?;
        Some(Cell {
            key: key.to_vec(),
            value,
            created: *created,
            modified: *modified,
        })
    }

    fn within(&self, range: &KeyRange, revision: u64) -> Vec<Cell> {
        let cells = self.cells.range(range.start.clone()..);
        let cells = cells.take_while(|(key, _)| range.is_before_end(key));
        cells
            .filter_map(|(key, _)| self.at(key, revision))
            .collect()
    }

    fn holds(&self, guard: &Guard) -> bool {
        let now = |key: &[u8]| self.at(key, self.revision);
        match guard {
            Guard::Absent(key) => now(key).is_none(),
            Guard::Present(key) => now(key).is_some(),
            Guard::Modified(key, revision) => {
                now(key).is_some_and(|cell| cell.modified == *revision)
            }
            Guard::Holds(key, value) => now(key).is_some_and(|cell| cell.value == *value),
            Guard::Empty(range) => self.within(range, self.revision).is_empty(),
        }
    }

    fn transact(&mut self, guards: &[Guard], writes: &[Write]) -> Option<u64> {
        assert_apart(writes);
        if !guards.iter().all(|guard| self.holds(guard)) {
            return None;
        }
        let next = self.revision + 1;
        for write in writes {
            match write {
                Write::Put(key, value) => {
                    let created = self.at(key, next).map_or(next, |cell| cell.created);
                    let history = self.cells.entry(key.clone()).or_default();
                    history.push((next, created, Some(value.clone())));
                }
                Write::Delete(key) => self.delete(key, next),
                Write::DeleteRange(range) => {
                    for cell in self.within(range, next) {
                        self.delete(&cell.key, next);
                    }
                }
            }
        }
        self.revision = next;
        Some(next)
    }

    fn delete(&mut self, key: &[u8], revision: u64) {
        if let Some(history) = self.cells.get_mut(key) {
            history.push((revision, 0, None));
        }
    }
}

/// Engines such as etcd reject a transaction that puts a key twice, or puts and deletes it.
fn assert_apart(writes: &[Write]) {
    let mut puts: Vec<&[u8]> = Vec::new();
    for write in writes {
        if let Write::Put(key, _) = write {
            puts.push(key);
        }
    }
    puts.sort_unstable();
    assert!(
        puts.is_sorted_by(|one, two| one < two),
        "a key is put twice"
    );
    for write in writes {
        match write {
            Write::Put(..) => {}
            Write::Delete(key) => assert!(!puts.contains(&key.as_slice())),
            Write::DeleteRange(range) => {
                assert!(
                    !puts.iter().any(|key| range.contains(key)),
                    "put and deleted"
                );
            }
        }
    }
}

impl CellStore for Simulated {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            operations: 16,
            bytes: 1 << 20,
        }
    }

    fn read(&self, reads: &[Read], at: Option<u64>) -> Result<ReadResult> {
        let engine = self.engine.0.lock();
        let revision = at.unwrap_or(engine.revision);
        let answer = |read: &Read| match read {
            Read::One(key) => engine.at(key, revision).into_iter().collect(),
            Read::Some {
                range,
                direction,
                limit,
            } => {
                let mut cells = engine.within(range, revision);
                if *direction == Direction::Backward {
                    cells.reverse();
                }
                cells.truncate(*limit);
                cells
            }
        };
        Ok(ReadResult {
            revision,
            cells: reads.iter().map(answer).collect(),
        })
    }

    /// Up to two revisions behind.
    fn read_possibly_stale(&self, reads: &[Read]) -> Result<Option<ReadResult>> {
        let newest = self.engine.0.lock().revision;
        self.read(reads, Some(newest - newest % 3)).map(Some)
    }

    fn transact(
        &self,
        guards: &[Guard],
        writes: &[Write],
    ) -> std::result::Result<Option<u64>, Failure> {
        let bounds = self.bounds();
        assert!(guards.len() <= bounds.operations && writes.len() <= bounds.operations);
        let bytes: usize = writes.iter().map(Write::bytes).sum();
        assert!(bytes <= bounds.bytes + bounds.bytes / 2, "{bytes} bytes");
        let (engine, changed) = &*self.engine;
        let mut engine = engine.lock();
        changed.notify_all();
        let lost = || Failure::OutcomeUnknown(Error::new(ErrorKind::Unavailable, "lost by chance"));
        if let Some(left) = &mut engine.left {
            let refused = Error::new(ErrorKind::Engine, "the process is dead");
            *left = left.checked_sub(1).ok_or(Failure::NotApplied(refused))?;
        }
        let fate = engine.chance.as_mut();
        match fate.map_or(9, |chance| chance.random_range(0..10)) {
            0 => Err(lost()),
            1 => {
                engine.late.push((guards.to_vec(), writes.to_vec()));
                Err(lost())
            }
            2 => {
                engine.transact(guards, writes);
                Err(lost())
            }
            3 => {
                for (guards, writes) in std::mem::take(&mut engine.late) {
                    engine.transact(&guards, &writes);
                }
                Ok(engine.transact(guards, writes))
            }
            _ => Ok(engine.transact(guards, writes)),
        }
    }

    fn follow(&self, cell: &[u8], after: u64) -> Result<Box<dyn Follow>> {
        Ok(Box::new(SimulatedFollow {
            engine: self.clone(),
            cell: cell.to_vec(),
            after,
        }))
    }

    fn retry_timeout(&self) -> Duration {
        Duration::from_secs(20)
    }
}

struct SimulatedFollow {
    engine: Simulated,
    cell: Vec<u8>,
    after: u64,
}

impl Follow for SimulatedFollow {
    fn next(&mut self, timeout: Duration) -> Result<Option<Followed>> {
        let deadline = Instant::now() + timeout;
        let (engine, changed) = &*self.engine.engine;
        let mut engine = engine.lock();
        loop {
            let history = engine.cells.get(&self.cell);
            let mut later = history.into_iter().flatten();
            if let Some((revision, _, value)) = later.find(|(at, ..)| *at > self.after) {
                self.after = *revision;
                let (value, revision) = (value.clone().unwrap_or_default(), *revision);
                return Ok(Some(Followed::Written { value, revision }));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            changed.wait_until(&mut engine, deadline);
        }
    }
}

fn open(engine: &Simulated) -> Arc<dyn Driver> {
    Arc::new(StagedDriver::open(engine.clone(), b"test/").expect("a key space"))
}

mod small_transactions {
    use super::{Simulated, open};
    espalier_testkit::conformance!({
        let engine = Simulated::default();
        move || open(&engine)
    });
}

/// Small and staged batches of two processes over an engine that loses requests and responses, and applies
/// lost requests late: each batch that succeeds is applied exactly once, and nothing else is.
#[test]
fn commits_with_lost_responses_are_resolved() {
    seed::run("lost answers", commit_with_lost_responses);
}

/// A gate was created late, by a request that had been given up, and remained without its records.
#[test]
fn an_abandoned_gate_is_not_created_later() {
    commit_with_lost_responses(&mut StdRng::seed_from_u64(9_041_387_111_726_441_499));
}

fn commit_with_lost_responses(random: &mut StdRng) {
    let engine = Simulated::default();
    let processes = [open(&engine), open(&engine)];
    let chance = StdRng::seed_from_u64(random.random());
    engine.engine.0.lock().chance = Some(chance);
    let mut expected = 0;
    for number in 0..300u32 {
        let driver = &processes[random.random_range(0..2)];
        let mut batch = Batch::new();
        batch.add("sum", 1);
        let keys = if random.random_ratio(1, 3) { 40 } else { 2 };
        (0..keys).for_each(|key: u8| batch.put([b'k', key], number.to_be_bytes()));
        match driver.commit(batch) {
            Ok(_) => expected += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}"),
        }
        let snapshot = driver.snapshot().expect("a snapshot");
        let sum = snapshot.get(b"sum").expect("a get");
        let sum = counter::decode(b"sum", sum.as_deref()).expect("a counter");
        // A commit with an unknown outcome may be applied, also later by the next commit.
        assert!(sum >= expected, "{sum} instead of {expected} or more");
        expected = sum;
    }
    engine.engine.0.lock().chance = None;
    let driver = open(&engine);
    assert_eq!(driver.check().expect("a check"), []);
}

/// A batch that was left half applied is finished by the next process that opens the key space, and is not
/// visible until then.
#[test]
fn the_next_process_finishes_a_staged_batch() {
    let engine = Simulated::default();
    let value_of = |driver: &dyn Driver| {
        let snapshot = driver.snapshot().expect("a snapshot");
        let mut values = (0..100u8).map(|key| {
            let value = snapshot.get(&[key]).expect("a get");
            value.map_or(0, |value| value[0])
        });
        let first = values.next().expect("a value");
        assert!(
            values.all(|value| value == first),
            "half a batch is visible"
        );
        first
    };
    let mut finished = 0;
    for carried_out in 0..20u8 {
        let driver = open(&engine);
        let before = value_of(&*driver);
        let mut batch = Batch::new();
        (0..100u8).for_each(|key| batch.put([key], [carried_out + 1]));
        engine.engine.0.lock().left = Some(carried_out.into());
        let is_done = driver.commit(batch).is_ok();
        engine.engine.0.lock().left = None;
        let half = value_of(&*driver);
        assert_eq!(half, if is_done { carried_out + 1 } else { before });
        let after = value_of(&*open(&engine));
        assert!(after == carried_out + 1 || (after == before && !is_done));
        finished += u32::from(after != half);
    }
    assert!(
        finished > 5,
        "only {finished} were finished by the next opener"
    );
}
