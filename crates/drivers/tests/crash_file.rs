//! The file driver after its process was killed: while it commits, and while it compacts.
#![cfg(feature = "file")]

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::{crash, process};

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the directory opens")
}

#[test]
fn the_part_that_is_killed() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

fn kill(options: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("file:{}?{options}", dir.path().display());
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

#[test]
fn a_compacting_engine_survives_its_process() {
    kill("durability=relaxed&journal_size=1");
}
