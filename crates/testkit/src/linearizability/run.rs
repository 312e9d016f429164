//! A run: processes that work on one key space, what hurts them, and the judgement.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::Driver;
use rand::rngs::StdRng;
use rand::{Rng, RngCore};

use super::account::{Account, Numbers};
use super::record::Line;
use super::search::{Operation, Verdict, search};
use super::space::{self, Act, Space};
use super::worker::{self, CLIENTS, now};
use crate::process::Part;
use crate::seed;

/// The variable that sets for how many seconds a run hurts what it runs on.
pub const SECONDS_VARIABLE: &str = "ESPALIER_FAULT_SECONDS";

/// Seconds when nobody says otherwise.
const SECONDS: u64 = 8;

/// The longest time without a fault.
const PEACE_MS_MAX: u64 = 500;

/// The longest that a process is halted, mostly and at times.
const HALT_MS_MAX: [u64; 2] = [700, 7_000];

/// One halt in this many may be a long one.
const LONG_HALTS: u32 = 8;

/// How long everything works undisturbed before the end.
const RECOVERY: Duration = Duration::from_millis(700);

/// How long processes may take to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// Steps of the search, after which it is given up: some minutes.
const STEPS_MAX: u64 = 200_000_000;

/// Something that is done to servers or connections. On return everything works again, or will by
/// itself. It may let some time go by in between.
pub struct Hurt<'a> {
    /// What it does, for people who look for what went wrong.
    pub name: &'static str,
    /// Does it.
    pub act: Box<dyn Fn(&mut StdRng) + 'a>,
}

impl<'a> Hurt<'a> {
    /// Something that is done.
    pub fn new(name: &'static str, act: impl Fn(&mut StdRng) + 'a) -> Self {
        let act = Box::new(act);
        Self { name, act }
    }
}

/// What a run is of.
pub struct Run<'a> {
    /// The test of this binary that calls [`worker::part`].
    pub part: &'a str,
    /// The key space as each process opens it; one process for each.
    pub urls: Vec<String>,
    /// What is done to the engine, beside killing and halting processes.
    pub hurts: Vec<Hurt<'a>>,
    /// Opens the key space in the end.
    pub open: &'a dyn Fn() -> Arc<dyn Driver>,
}

/// Lets processes work on a key space while all sorts of things happen, and panics where what they
/// saw cannot be.
pub fn run(run: &Run<'_>) {
    let seconds = seed::number_from_environment(SECONDS_VARIABLE).unwrap_or(SECONDS);
    seed::run("the linearizability test", |random| {
        let mut crew = Crew::start(run, random.next_u64());
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            let peace = random.random_range(0..PEACE_MS_MAX);
            crew.wait(Duration::from_millis(peace));
            let kinds = 2 + run.hurts.len();
            match random.random_range(0..kinds) {
                0 => crew.kill_one(random),
                1 => crew.halt_one(random),
                hurt => crew.hurt(&run.hurts[hurt - 2], random),
            }
        }
        crew.wait(RECOVERY);
        let account = crew.finish();
        let driver = (run.open)();
        let driver = &*driver;
        let judged = catch_unwind(AssertUnwindSafe(|| judge(&account, driver)));
        let numbers = judged.unwrap_or_else(|panic| {
            account.keep();
            resume_unwind(panic)
        });
        println!("{}: {numbers:?}", driver.name());
        assert!(
            numbers.reads > 0 && numbers.made > 0,
            "nothing was done: {numbers:?}"
        );
    });
}

/// The processes of a run.
struct Crew<'a> {
    run: &'a Run<'a>,
    seed: u64,
    parts: Vec<Part>,
    next_client: u32,
    /// What parts say, and `None` when one ends.
    said: Receiver<Option<String>>,
    sayer: Sender<Option<String>>,
    /// Parts whose end is not heard of yet.
    running: usize,
    account: Account,
}

impl<'a> Crew<'a> {
    fn start(run: &'a Run<'a>, seed: u64) -> Self {
        let (sayer, said) = channel();
        let mut crew = Self {
            run,
            seed,
            parts: Vec::new(),
            next_client: 1,
            said,
            sayer,
            running: 0,
            account: Account::default(),
        };
        for url in &run.urls {
            let part = crew.part(url);
            crew.parts.push(part);
        }
        crew
    }

    fn part(&mut self, url: &str) -> Part {
        let call = worker::call(self.next_client, self.seed, url);
        self.next_client += CLIENTS;
        let mut part = Part::start(self.run.part, &call);
        let (lines, sayer) = (part.lines(), self.sayer.clone());
        // Read all the time: a part whose pipe is full would do nothing.
        thread::spawn(move || {
            lines.for_each(|line| drop(sayer.send(Some(line))));
            drop(sayer.send(None));
        });
        self.running += 1;
        part
    }

    /// Listens for some time.
    fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(said) => self.hear(said),
                Err(_) => return,
            }
        }
    }

    fn hear(&mut self, said: Option<String>) {
        match said {
            // Half a line is the last that was said before a kill.
            Some(text) => Line::parse(&text)
                .into_iter()
                .for_each(|line| self.account.add(line)),
            None => self.running -= 1,
        }
    }

    fn kill_one(&mut self, random: &mut StdRng) {
        let number = random.random_range(0..self.parts.len());
        note(&format!("process {number} is killed"));
        self.parts[number].kill();
        let url = &self.run.urls[number];
        self.parts[number] = self.part(url);
    }

    /// Halts a process; something else may happen meanwhile.
    fn halt_one(&mut self, random: &mut StdRng) {
        let number = random.random_range(0..self.parts.len());
        let is_long = random.random_ratio(1, LONG_HALTS);
        let time = random.random_range(0..HALT_MS_MAX[usize::from(is_long)]);
        note(&format!("process {number} is halted for {time} ms"));
        self.parts[number].halt();
        self.wait(Duration::from_millis(time));
        if !self.run.hurts.is_empty() && random.random() {
            let hurt = random.random_range(0..self.run.hurts.len());
            self.hurt(&self.run.hurts[hurt], random);
        }
        note(&format!("process {number} goes on"));
        self.parts[number].go_on();
    }

    fn hurt(&mut self, hurt: &Hurt<'_>, random: &mut StdRng) {
        note(hurt.name);
        (hurt.act)(random);
        note("which is over");
    }

    /// Has all processes end, and returns what was said.
    fn finish(mut self) -> Account {
        let parts = std::mem::take(&mut self.parts);
        let ends = thread::spawn(|| {
            for part in parts {
                part.finish();
            }
        });
        let end = Instant::now() + PATIENCE;
        while self.running > 0 {
            let left = end.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(said) => self.hear(said),
                Err(RecvTimeoutError::Timeout) => panic!("{} processes do not end", self.running),
                Err(RecvTimeoutError::Disconnected) => unreachable!("this has a sender too"),
            }
        }
        ends.join().expect("every process ends well");
        self.account
    }
}

/// Says what happens, and when, by the clock of the operations.
fn note(what: &str) {
    println!("{}: {what}", now());
}

fn judge(account: &Account, driver: &dyn Driver) -> Numbers {
    assert_eq!(driver.check().expect("a check"), []);
    let receipts = space::receipts(driver).expect("the receipts");
    let last = space::read(&*driver.snapshot().expect("a snapshot")).expect("the last state");
    let counted = receipts.values().filter(|counts| **counts).count();
    assert_eq!(
        last.count, counted as i64,
        "of the counter and the receipts"
    );
    let (mut history, numbers) = account.history(&receipts);
    account.check_versions();
    history.push(Operation {
        called: u64::MAX,
        returned: Some(u64::MAX),
        act: Act::Saw(last),
    });
    match search(&Space, &history, STEPS_MAX) {
        Verdict::Linearizable(_) => numbers,
        Verdict::GivenUp => panic!("the history is too hard to judge: {numbers:?}"),
        Verdict::Impossible { order, stuck } => {
            explain(&history, &order, stuck);
            panic!("the history cannot have happened in one order: {numbers:?}");
        }
    }
}

/// Prints where the longest order ends, and what was going on then.
fn explain(history: &[Operation<Act>], order: &[usize], stuck: usize) {
    let print = |operation: &Operation<Act>| {
        let returned = operation.returned.unwrap_or(u64::MAX);
        println!("  {}..{returned} {:x?}", operation.called, operation.act);
    };
    println!("the end of the longest order:");
    let last = &order[order.len().saturating_sub(20)..];
    last.iter().for_each(|number| print(&history[*number]));
    println!("what does not fit in:");
    print(&history[stuck]);
    println!("what else was going on, or did later:");
    let others = (0..history.len()).filter(|number| *number != stuck && !order.contains(number));
    others.take(20).for_each(|number| print(&history[number]));
}
