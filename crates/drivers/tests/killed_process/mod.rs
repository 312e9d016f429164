//! Shared by the tests of engines whose process is killed.

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::{crash, process};

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the engine opens")
}

/// Runs in the process that is killed: the test `child_that_is_killed` of each engine.
pub fn part() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

/// Kills a process of an engine, and checks the store that it leaves.
pub fn run(url: &str) {
    crash::run("child_that_is_killed", url, &|| open(url));
}
