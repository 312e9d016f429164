//! What the tests of engines whose process is killed share.

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::{crash, process};

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the engine opens")
}

/// What the process does that is killed: the test `the_part_that_is_killed` of each engine.
pub fn part() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

/// Has a process of an engine killed, and looks at what it left.
pub fn run(url: &str) {
    crash::run("the_part_that_is_killed", url, &|| open(url));
}
