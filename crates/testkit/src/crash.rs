//! Kills a process during commits and checks the state that it leaves.
//!
//! Threads of a child process commit numbered batches and acknowledge each on a pipe. The test kills the
//! process at a random moment, opens the engine, and expects for each thread its last acknowledged batch or
//! the next one, complete.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Direction, Driver, KeyRange, Result, Writer, counter};
use rand::Rng;

use crate::process::{Part, say};
use crate::seed;

/// Number of threads that commit.
const THREADS: u8 = 3;

/// Number of keys that every batch changes.
const KEYS: u8 = 20;

/// Number of batches whose own keys are kept.
const KEPT: u64 = 50;

/// Number of kills in one test.
const KILLS: u32 = 12;

/// One batch in this many is a streamed write.
const WRITES: u64 = 5;

/// Maximum lifetime of the process after its first acknowledgement.
const LIFE_MS_MAX: u64 = 60;

/// The child process: commits until it is killed. `driver` is the engine under test.
pub fn part(driver: Arc<dyn Driver>) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let driver = &*driver;
            scope.spawn(move || commit_until_killed(driver, thread));
        }
    });
}

fn commit_until_killed(driver: &dyn Driver, thread: u8) {
    for number in state_of(driver, thread) + 1.. {
        let committed = if number % WRITES == 0 {
            driver.write(&[], &mut |writer| write_batch(writer, thread, number))
        } else {
            let mut batch = Batch::new();
            fill_batch(&mut batch, thread, number);
            driver.commit(batch).map(|committed| committed.version)
        };
        committed.expect("a commit");
        say(&format!("{thread} {number}"));
    }
}

/// The operations of a batch: a number in every key, a counter, a key of its own, and the deletion of old
/// keys.
fn fill_batch(batch: &mut Batch, thread: u8, number: u64) {
    let value = number.to_be_bytes();
    (0..KEYS).for_each(|at| batch.put([thread, b'k', at], value));
    batch.add([thread, b'c'], 1);
    batch.put(own_key(thread, number), vec![thread; own_bytes(number)]);
    batch.delete_range(expired_keys(thread, number));
}

fn write_batch(writer: &mut dyn Writer, thread: u8, number: u64) -> Result<()> {
    let value = number.to_be_bytes();
    (0..KEYS).try_for_each(|at| writer.put(&[thread, b'k', at], &value))?;
    writer.add(&[thread, b'c'], 1)?;
    writer.put(&own_key(thread, number), &vec![thread; own_bytes(number)])?;
    writer.delete_range(&expired_keys(thread, number))
}

fn own_key(thread: u8, number: u64) -> Vec<u8> {
    [&[thread, b'o'], &number.to_be_bytes()[..]].concat()
}

fn own_bytes(number: u64) -> usize {
    (number * 97 % 10_000) as usize
}

fn expired_keys(thread: u8, number: u64) -> KeyRange {
    let end = (number + 1).saturating_sub(KEPT);
    KeyRange::new(own_key(thread, 0), own_key(thread, end))
}

/// Kills the child test `name` repeatedly. `open` opens the same engine as the child does with `argument`.
pub fn run(name: &str, argument: &str, open: &dyn Fn() -> Arc<dyn Driver>) {
    seed::run("the kill test", |random| {
        let mut states = [0; THREADS as usize];
        for _ in 0..KILLS {
            let life = Duration::from_micros(random.random_range(0..LIFE_MS_MAX * 1000));
            let acknowledged = run_and_kill(name, argument, life, states);
            let driver = open();
            assert_eq!(driver.check().expect("a check"), []);
            for thread in 0..THREADS {
                let (state, last) = (
                    state_of(&*driver, thread),
                    acknowledged[usize::from(thread)],
                );
                assert!(
                    state == last || state == last + 1,
                    "thread {thread} had {last} acknowledged; {state} is stored"
                );
                states[usize::from(thread)] = state;
            }
        }
        assert!(states.iter().sum::<u64>() > 0, "nothing was ever committed");
    });
}

type States = [u64; THREADS as usize];

fn run_and_kill(name: &str, argument: &str, life: Duration, before: States) -> States {
    let mut part = Part::start(name, argument);
    let mut states = before;
    let mut note = |line: &str| {
        let (thread, number) = line.split_once(' ').expect("two numbers");
        let thread: usize = thread.parse().expect("a thread");
        let number = number.parse().expect("a number");
        assert_eq!(number, states[thread] + 1, "acknowledged out of order");
        states[thread] = number;
    };
    note(&part.line().expect("a first acknowledgement"));
    // Keeps reading: a child whose pipe is full would block.
    thread::scope(|scope| {
        let (send, lines) = std::sync::mpsc::channel();
        let (part, kill) = (&mut part, std::time::Instant::now() + life);
        scope.spawn(move || {
            let mut killed = false;
            while let Some(line) = part.line() {
                let _ = send.send(line);
                if !killed && std::time::Instant::now() >= kill {
                    part.kill();
                    killed = true;
                }
            }
        });
        lines.iter().for_each(|line| note(&line));
    });
    states
}

/// The number of the last stored batch of a thread; panics if the batch is incomplete.
fn state_of(driver: &dyn Driver, thread: u8) -> u64 {
    let snapshot = driver.snapshot().expect("a snapshot");
    let key = [thread, b'c'];
    let count = snapshot.get(&key).expect("a get");
    let number = counter::decode(&key, count.as_deref()).expect("a counter") as u64;
    if number == 0 {
        return 0;
    }
    for at in 0..KEYS {
        let value = snapshot.get(&[thread, b'k', at]).expect("a get");
        assert_eq!(
            value.as_deref(),
            Some(&number.to_be_bytes()[..]),
            "a torn batch"
        );
    }
    let own = KeyRange::prefix(&[thread, b'o']);
    let mut cursor = snapshot.scan(&own, Direction::Forward).expect("a scan");
    for kept in (number + 1).saturating_sub(KEPT).max(1)..=number {
        let (key, value) = cursor.next().expect("a step").expect("the key of a batch");
        assert_eq!(key, own_key(thread, kept));
        assert_eq!(value.len(), own_bytes(kept));
    }
    assert_eq!(cursor.next().expect("the end"), None);
    number
}
