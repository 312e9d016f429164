//! The SQLite driver after its process was killed.
#![cfg(feature = "sqlite")]

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::{crash, process};

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the file opens")
}

#[test]
fn the_part_that_is_killed() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

fn kill(options: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("sqlite:{}?{options}", dir.path().join("data.db").display());
    crash::run("the_part_that_is_killed", &url, &|| open(&url));
}

#[test]
fn a_durable_engine_keeps_exactly_what_it_acknowledged() {
    kill("durability=durable");
}

#[test]
fn a_relaxed_engine_survives_its_process() {
    kill("durability=relaxed");
}
