//! SIGKILL during commits with constraints, indexes, history, a candidate and confirmed commits
//! pending: the store opens, `check` finds nothing, and the state is that of the acknowledged
//! steps (or one more, which was done and not told).

#[path = "../model/setting.rs"]
#[allow(dead_code)]
mod setting;
mod steps;

use std::time::Duration;

use espalier_testkit::process::{self, Part, say};
use espalier_testkit::seed;
use rand::Rng;

use crate::setting::{assert_sound, open_tree};
use crate::steps::{MODEL, State, state, step};

/// Steps of one run, over all its lives.
const STEPS: u64 = 1000;

/// A life ends after this time at the latest, in milliseconds.
const LIFE_MS_MAX: u64 = 150;

fn open(url: &str) -> espalier_store::Tree {
    open_tree(
        espalier_drivers::open(url).expect("the directory opens"),
        MODEL,
    )
}

/// A part: makes steps until it is killed. Called with the URL, the seed and the first step.
#[test]
fn part_making_steps() {
    let Some(argument) = process::argument() else {
        return;
    };
    let mut words = argument.split(' ');
    let mut next = || words.next().expect("an argument");
    let tree = open(next());
    let seed: u64 = next().parse().expect("a seed");
    let first: u64 = next().parse().expect("a step");
    say("open");
    for number in first..STEPS {
        step(&tree, seed, number);
        say(&number.to_string());
    }
}

/// One life of the store: how many steps were acknowledged.
fn live(url: &str, seed: u64, first: u64, life: Duration) -> u64 {
    let mut part = Part::start("part_making_steps", &format!("{url} {seed} {first}"));
    assert_eq!(part.line().as_deref(), Some("open"));
    std::thread::sleep(life);
    part.kill();
    let mut done = first;
    while let Some(line) = part.line() {
        done = line.parse::<u64>().expect("a step") + 1;
    }
    done
}

fn run(durability: &str) {
    seed::run("kills", |random| {
        let dir = tempfile::tempdir().expect("a directory");
        let url = format!("embedded:{}?durability={durability}", dir.path().display());
        let seed = random.random();
        drop(open(&url));
        let naive = open("memory:");
        let (mut done, mut lives) = (0, 0);
        while done < STEPS {
            let life = Duration::from_millis(random.random_range(1..LIFE_MS_MAX));
            let told = live(&url, seed, done, life);
            (done..told).for_each(|number| step(&naive, seed, number));
            done = told;
            let tree = open(&url);
            assert_sound(tree.store());
            tree.validate_whole().expect("what is committed is valid");
            let found: State = state(&tree);
            if found != state(&naive) && done < STEPS {
                // A step was done, and not told any more.
                step(&naive, seed, done);
                done += 1;
            }
            assert_eq!(found, state(&naive), "after {done} steps");
            lives += 1;
            assert!(lives < STEPS, "the lives are too short to get anywhere");
        }
        println!("{lives} lives of {STEPS} steps, {durability}");
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
