//! A process that reads and changes a key space at random, until its standard input closes.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Driver, Error, ErrorKind, Result};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::record::{Event, Record};
use super::sequential_model::{self, Change, REGISTERS, State};
use crate::process::{argument, say};

/// Number of threads of a process; each is a client.
pub(super) const CLIENTS: u32 = 2;

/// Bits of an operation number that count within a client.
const NUMBER_BITS: u32 = 32;

/// Maximum pause between two operations.
const PAUSE_US_MAX: u64 = 6_000;

/// How long the process waits for an unreachable engine when it starts.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

/// The argument of a process.
pub(super) fn call(first_client: u32, seed: u64, url: &str) -> String {
    format!("{first_client} {seed} {url}")
}

/// The body of a child process of a run. Returns at once if the test is not run as a child process.
pub fn part(open: &dyn Fn(&str) -> Result<Arc<dyn Driver>>) {
    let Some(argument) = argument() else { return };
    let mut words = argument.splitn(3, ' ');
    let mut next = || words.next().expect("three words");
    let first_client: u32 = next().parse().expect("a number");
    let seed: u64 = next().parse().expect("a seed");
    let driver = open_with_retries(open, next());
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for client in first_client..first_client + CLIENTS {
            let (driver, is_done) = (&*driver, &is_done);
            scope.spawn(move || Client::new(driver, client, seed).work(is_done));
        }
        // Never receives data; ends when the parent closes the pipe or ends.
        let _ = std::io::stdin().read(&mut [0]);
        is_done.store(true, Ordering::Release);
    });
}

fn open_with_retries(open: &dyn Fn(&str) -> Result<Arc<dyn Driver>>, url: &str) -> Arc<dyn Driver> {
    let start = Instant::now();
    loop {
        match open(url) {
            Ok(driver) => return driver,
            Err(error) if has_no_effect(&error) && start.elapsed() < OPEN_TIMEOUT => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => panic!("{url} does not open: {error}"),
        }
    }
}

/// Whether an error during a fault means that nothing was applied.
fn has_no_effect(error: &Error) -> bool {
    error.is_retryable()
}

/// Nanoseconds of the monotonic clock of the machine, the same for all processes.
pub(super) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

struct Client<'a> {
    driver: &'a dyn Driver,
    random: StdRng,
    /// The number of the previous operation.
    operation: u64,
    /// The state of the last read of this client.
    last_read: State,
}

impl<'a> Client<'a> {
    fn new(driver: &'a dyn Driver, client: u32, seed: u64) -> Self {
        Self {
            driver,
            random: StdRng::seed_from_u64(seed ^ u64::from(client)),
            operation: u64::from(client) << NUMBER_BITS,
            last_read: State::default(),
        }
    }

    fn work(mut self, is_done: &AtomicBool) {
        while !is_done.load(Ordering::Acquire) {
            match self.random.random_range(0..10) {
                0..4 => self.read(),
                4..6 => self.change(None),
                _ => {
                    // From the state of a read, now or earlier.
                    if self.random.random_ratio(2, 3) {
                        self.read();
                    }
                    let register = self.register();
                    self.change(Some(register));
                }
            }
            let pause = self.random.random_range(0..PAUSE_US_MAX);
            thread::sleep(Duration::from_micros(pause));
        }
    }

    fn register(&mut self) -> usize {
        self.random.random_range(0..REGISTERS)
    }

    fn record(&self, event: Event) {
        let (operation, at) = (self.operation, now());
        let line = Record {
            operation,
            at,
            event,
        };
        say(&line.print());
    }

    fn read(&mut self) {
        self.operation += 1;
        self.record(Event::ReadStarted);
        let last_read = self.driver.snapshot().and_then(|snapshot| {
            let state = sequential_model::read(&*snapshot)?;
            Ok((state, snapshot.version().0))
        });
        match last_read {
            Ok((state, version)) => {
                self.record(Event::ReadResult(state.clone(), version));
                self.last_read = state;
            }
            Err(error) if has_no_effect(&error) => self.record(Event::Failed),
            Err(error) => panic!("a read: {error}"),
        }
    }

    /// Changes a register: this one from its last read value, or any one unconditionally.
    fn change(&mut self, from_last_read: Option<usize>) {
        let register = from_last_read.unwrap_or_else(|| self.register());
        self.operation += 1;
        let change = Change {
            register,
            expected: from_last_read.map(|register| self.last_read.registers[register]),
            stamp: self.operation,
            counts: self.random.random(),
        };
        let is_streamed = self.random.random_ratio(1, 6);
        let batch = change.batch();
        self.record(Event::ChangeStarted(change));
        let result = match is_streamed {
            true => {
                let conditions = batch.preconditions();
                let written = self
                    .driver
                    .write(conditions, &mut |writer| change.write(writer));
                // A streamed write may also be rejected because of changes of others.
                written.map_err(|error| (error, Event::Failed))
            }
            false => {
                let committed = self.driver.commit(batch);
                let committed = committed.map(|committed| committed.version);
                committed.map_err(|error| (error, Event::Rejected))
            }
        };
        self.record(match result {
            Ok(version) => Event::Committed(version.0),
            Err((error, conflict)) => match error.kind() {
                ErrorKind::Conflict if change.expected.is_some() => conflict,
                ErrorKind::OutcomeUnknown => Event::Unknown,
                _ if has_no_effect(&error) => Event::Failed,
                _ => panic!("a change: {error}"),
            },
        });
    }
}
