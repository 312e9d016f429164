//! A run: processes that work on one key space, injected faults, and the check.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::Driver;
use rand::rngs::StdRng;
use rand::{Rng, RngCore};

use super::record::Record;
use super::recorded_history::{OutcomeCounts, RecordedHistory};
use super::search::{Operation, Verdict, search};
use super::sequential_model::{self, Act, Space};
use super::worker::{self, CLIENTS, now};
use crate::process::Part;
use crate::seed;

/// The variable that sets the duration of the fault injection, in seconds.
pub const SECONDS_VARIABLE: &str = "ESPALIER_FAULT_SECONDS";

/// Default duration in seconds.
const SECONDS: u64 = 8;

/// Maximum time without a fault.
const FAULT_FREE_MS_MAX: u64 = 500;

/// Maximum pause of a process: the usual one and the long one.
const PAUSE_MS_MAX: [u64; 2] = [700, 7_000];

/// One pause in this many is a long one.
const LONG_PAUSE_RATIO: u32 = 8;

/// Time without faults at the end.
const RECOVERY: Duration = Duration::from_millis(700);

/// Maximum time for the processes to end.
const END_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum number of steps of the search: some minutes.
const STEPS_MAX: u64 = 200_000_000;

/// A fault of servers or connections. On return they work again, or recover by themselves. It may take some
/// time.
pub struct Hurt<'a> {
    /// Describes the fault, for the analysis of a failure.
    pub name: &'static str,
    /// Causes the fault.
    pub act: Box<dyn Fn(&mut StdRng) + 'a>,
}

impl<'a> Hurt<'a> {
    /// Creates a fault.
    pub fn new(name: &'static str, act: impl Fn(&mut StdRng) + 'a) -> Self {
        let act = Box::new(act);
        Self { name, act }
    }
}

/// The configuration of a run.
pub struct Run<'a> {
    /// The test of this binary that calls [`worker::part`].
    pub part: &'a str,
    /// The URL of the key space for each process.
    pub urls: Vec<String>,
    /// The faults of the engine, in addition to killing and pausing processes.
    pub hurts: Vec<Hurt<'a>>,
    /// Opens the key space at the end.
    pub open: &'a dyn Fn() -> Arc<dyn Driver>,
}

/// Runs processes on a key space while faults occur, and panics if their results are not linearizable.
pub fn run(run: &Run<'_>) {
    let seconds = seed::number_from_environment(SECONDS_VARIABLE).unwrap_or(SECONDS);
    seed::run("the linearizability test", |random| {
        let mut processes = Processes::start(run, random.next_u64());
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            let fault_free_ms = random.random_range(0..FAULT_FREE_MS_MAX);
            processes.wait(Duration::from_millis(fault_free_ms));
            let kinds = 2 + run.hurts.len();
            match random.random_range(0..kinds) {
                0 => processes.kill_one(random),
                1 => processes.pause_one(random),
                hurt => processes.hurt(&run.hurts[hurt - 2], random),
            }
        }
        processes.wait(RECOVERY);
        let recorded = processes.finish();
        let driver = (run.open)();
        let driver = &*driver;
        let checked = catch_unwind(AssertUnwindSafe(|| check_history(&recorded, driver)));
        let numbers = checked.unwrap_or_else(|panic| {
            recorded.write_to_file();
            resume_unwind(panic)
        });
        println!("{}: {numbers:?}", driver.name());
        assert!(
            numbers.reads > 0 && numbers.committed > 0,
            "no operation succeeded: {numbers:?}"
        );
    });
}

/// The processes of a run.
struct Processes<'a> {
    run: &'a Run<'a>,
    seed: u64,
    parts: Vec<Part>,
    next_client: u32,
    /// The lines of the processes; `None` at the end of each.
    receiver: Receiver<Option<String>>,
    sender: Sender<Option<String>>,
    /// Number of processes whose end was not received yet.
    running: usize,
    recorded: RecordedHistory,
}

impl<'a> Processes<'a> {
    fn start(run: &'a Run<'a>, seed: u64) -> Self {
        let (sender, receiver) = channel();
        let mut processes = Self {
            run,
            seed,
            parts: Vec::new(),
            next_client: 1,
            receiver,
            sender,
            running: 0,
            recorded: RecordedHistory::default(),
        };
        for url in &run.urls {
            let part = processes.part(url);
            processes.parts.push(part);
        }
        processes
    }

    fn part(&mut self, url: &str) -> Part {
        let call = worker::call(self.next_client, self.seed, url);
        self.next_client += CLIENTS;
        let mut part = Part::start(self.run.part, &call);
        let (lines, sender) = (part.lines(), self.sender.clone());
        // Keeps reading: a process whose pipe is full would block.
        thread::spawn(move || {
            lines.for_each(|line| drop(sender.send(Some(line))));
            drop(sender.send(None));
        });
        self.running += 1;
        part
    }

    /// Receives records for some time.
    fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(left) {
                Ok(line) => self.receive(line),
                Err(_) => return,
            }
        }
    }

    fn receive(&mut self, line: Option<String>) {
        match line {
            // The last line before a kill may be incomplete.
            Some(text) => Record::parse(&text)
                .into_iter()
                .for_each(|line| self.recorded.add(line)),
            None => self.running -= 1,
        }
    }

    fn kill_one(&mut self, random: &mut StdRng) {
        let number = random.random_range(0..self.parts.len());
        log_event(&format!("process {number} is killed"));
        self.parts[number].kill();
        let url = &self.run.urls[number];
        self.parts[number] = self.part(url);
    }

    /// Pauses a process; another fault may occur meanwhile.
    fn pause_one(&mut self, random: &mut StdRng) {
        let number = random.random_range(0..self.parts.len());
        let is_long = random.random_ratio(1, LONG_PAUSE_RATIO);
        let time = random.random_range(0..PAUSE_MS_MAX[usize::from(is_long)]);
        log_event(&format!("process {number} is paused for {time} ms"));
        self.parts[number].halt();
        self.wait(Duration::from_millis(time));
        if !self.run.hurts.is_empty() && random.random() {
            let hurt = random.random_range(0..self.run.hurts.len());
            self.hurt(&self.run.hurts[hurt], random);
        }
        log_event(&format!("process {number} is resumed"));
        self.parts[number].go_on();
    }

    fn hurt(&mut self, hurt: &Hurt<'_>, random: &mut StdRng) {
        log_event(hurt.name);
        (hurt.act)(random);
        log_event("the fault is over");
    }

    /// Ends all processes and returns the records.
    fn finish(mut self) -> RecordedHistory {
        let parts = std::mem::take(&mut self.parts);
        let ends = thread::spawn(|| {
            for part in parts {
                part.finish();
            }
        });
        let end = Instant::now() + END_TIMEOUT;
        while self.running > 0 {
            let left = end.saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(left) {
                Ok(line) => self.receive(line),
                Err(RecvTimeoutError::Timeout) => panic!("{} processes did not end", self.running),
                Err(RecvTimeoutError::Disconnected) => unreachable!("this owns a sender"),
            }
        }
        ends.join().expect("every process succeeds");
        self.recorded
    }
}

/// Prints an event with the time of the clock of the operations.
fn log_event(what: &str) {
    println!("{}: {what}", now());
}

fn check_history(recorded: &RecordedHistory, driver: &dyn Driver) -> OutcomeCounts {
    assert_eq!(driver.check().expect("a check"), []);
    let receipts = sequential_model::receipts(driver).expect("the receipts");
    let last =
        sequential_model::read(&*driver.snapshot().expect("a snapshot")).expect("the last state");
    let counted = receipts.values().filter(|counts| **counts).count();
    assert_eq!(
        last.count, counted as i64,
        "the counter differs from the receipts"
    );
    let (mut history, numbers) = recorded.history(&receipts);
    recorded.check_versions();
    history.push(Operation {
        called: u64::MAX,
        returned: Some(u64::MAX),
        act: Act::Read(last),
    });
    match search(&Space, &history, STEPS_MAX) {
        Verdict::Linearizable(_) => numbers,
        Verdict::GivenUp => panic!("the search exceeded its limit: {numbers:?}"),
        Verdict::Impossible { order, stuck } => {
            explain(&history, &order, stuck);
            panic!("the history is not linearizable: {numbers:?}");
        }
    }
}

/// Prints the end of the longest order and the operations at that time.
fn explain(history: &[Operation<Act>], order: &[usize], stuck: usize) {
    let print = |operation: &Operation<Act>| {
        let returned = operation.returned.unwrap_or(u64::MAX);
        println!("  {}..{returned} {:x?}", operation.called, operation.act);
    };
    println!("the end of the longest order:");
    let last = &order[order.len().saturating_sub(20)..];
    last.iter().for_each(|number| print(&history[*number]));
    println!("the operation that does not fit:");
    print(&history[stuck]);
    println!("other operations at that time or later:");
    let others = (0..history.len()).filter(|number| *number != stuck && !order.contains(number));
    others.take(20).for_each(|number| print(&history[number]));
}
