//! SIGKILL during commits with constraints, indexes, history, a candidate and pending confirmed commits: the
//! store opens, `check` finds nothing, state and history are those of the acknowledged steps (or of one more,
//! which was committed and not acknowledged), and unconfirmed commits are rolled back after their timeout.

#[path = "../model/fixture.rs"]
#[allow(dead_code)]
mod fixture;
mod history;
mod offset_clock;
mod steps;

use std::time::Duration;

use espalier_store::Tree;
use espalier_testkit::process::{self, Part, say};
use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;

use crate::fixture::assert_sound;
use crate::history::assert_same_history;
use crate::offset_clock::{OffsetClock, open};
use crate::steps::{State, TIMEOUT, state, step};

/// The number of steps of one run, over all its lives.
const STEPS: u64 = 1000;

/// The maximum number of steps of a life, so that there are many lives on fast machines too.
const LIFE_STEPS_MAX: u64 = 24;

/// The maximum pause in microseconds between the awaited acknowledgement and the kill.
const PAUSE_US_MAX: u64 = 600;

/// A run with fewer kills tests too little.
const KILLS_MIN: u64 = 40;

/// The minimum number of kills while a confirmed commit is pending.
const PENDING_MIN: u64 = 3;

/// A part: makes steps until it is killed. Its arguments are the URL, the seconds that its clock is ahead,
/// the seed, the first step, and the step to stop before.
#[test]
fn part_making_steps() {
    let Some(argument) = process::argument() else {
        return;
    };
    let (url, numbers) = argument.split_once(' ').expect("a URL and numbers");
    let numbers: Vec<u64> = numbers
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect();
    let [ahead, seed, first, end] = numbers[..] else {
        panic!("four numbers: {argument}");
    };
    let clock = OffsetClock::default();
    clock.advance(ahead);
    let tree = open(espalier_drivers::open(url).expect("it opens"), &clock);
    say("open");
    for number in first..end {
        step(&tree, seed, number);
        say(&number.to_string());
    }
    // A part that gets this far is killed while idle.
    loop {
        std::thread::park();
    }
}

/// A store on disk that is killed again and again, and one in memory that executes the same steps.
struct Run<'a> {
    random: &'a mut StdRng,
    url: String,
    /// Determines the steps.
    seed: u64,
    clock: OffsetClock,
    naive: Tree,
    /// The number of executed steps.
    done: u64,
    kills: u64,
    /// The number of kills while a confirmed commit was pending.
    pending: u64,
}

impl Run<'_> {
    fn open(&self) -> Tree {
        let driver = espalier_drivers::open(&self.url).expect("the directory opens");
        open(driver, &self.clock)
    }

    /// Runs one life of the store; returns the first step that was not acknowledged.
    fn live(&mut self) -> u64 {
        let end = STEPS.min(self.done + LIFE_STEPS_MAX);
        let awaited = self.random.random_range(self.done..end);
        let (url, ahead) = (&self.url, self.clock.ahead());
        let argument = format!("{url} {ahead} {} {} {end}", self.seed, self.done);
        let mut part = Part::start("part_making_steps", &argument);
        assert_eq!(part.line().as_deref(), Some("open"));
        let mut acknowledged = self.done;
        let number = |line: String| line.parse::<u64>().expect("a step") + 1;
        while acknowledged <= awaited {
            acknowledged = part.line().map(number).expect("the part goes on");
        }
        let pause = self.random.random_range(0..PAUSE_US_MAX);
        std::thread::sleep(Duration::from_micros(pause));
        part.kill();
        while let Some(line) = part.line() {
            acknowledged = number(line);
        }
        acknowledged
    }

    /// Compares the state after a kill.
    fn compare(&mut self, acknowledged: u64) {
        (self.done..acknowledged).for_each(|number| step(&self.naive, self.seed, number));
        self.done = acknowledged;
        let tree = self.open();
        assert_sound(tree.store());
        tree.validate_whole().expect("what is committed is valid");
        let found: State = state(&tree);
        if found != state(&self.naive) && self.done < STEPS {
            // A step was committed, and its acknowledgement was lost.
            step(&self.naive, self.seed, self.done);
            self.done += 1;
        }
        assert_eq!(found, state(&self.naive), "after {} steps", self.done);
        assert_same_history(&tree, &self.naive, self.random);
        self.pending += u64::from(found.is_pending);
        self.kills += 1;
    }

    /// Lets pending confirmed commits expire while no process has the store open.
    fn wait(&mut self) {
        self.clock.advance(2 * u64::from(TIMEOUT));
        self.naive.store().expire().expect("what ran out");
        let tree = self.open();
        let found = state(&tree);
        assert!(!found.is_pending);
        assert_eq!(found, state(&self.naive), "taken back");
        assert_sound(tree.store());
    }
}

fn run(durability: &str) {
    seed::run("kills", |random| {
        let dir = tempfile::tempdir().expect("a directory");
        let url = format!("embedded:{}?durability={durability}", dir.path().display());
        let clock = OffsetClock::default();
        let memory = espalier_drivers::open("memory:").expect("memory opens");
        let mut run = Run {
            url,
            seed: random.random(),
            naive: open(memory, &clock),
            random,
            clock,
            done: 0,
            kills: 0,
            pending: 0,
        };
        drop(run.open());
        while run.done < STEPS {
            let acknowledged = run.live();
            run.compare(acknowledged);
            if run.random.random_ratio(1, 6) {
                run.wait();
            }
        }
        let Run { kills, pending, .. } = run;
        println!("{kills} kills in {STEPS} steps, {pending} with a commit pending, {durability}");
        assert!(kills >= KILLS_MIN, "only {kills} kills");
        assert!(
            pending >= PENDING_MIN,
            "only {pending} with a commit pending"
        );
    });
}

#[test]
fn acknowledged_steps_survive_kills_durable() {
    run("durable");
}

#[test]
fn acknowledged_steps_survive_kills_relaxed() {
    run("relaxed");
}
