//! The PostgreSQL driver after its process was killed.
#![cfg(feature = "postgres")]

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_testkit::{crash, process, servers::Postgres};

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the schema opens")
}

#[test]
fn the_part_that_is_killed() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

fn kill(options: &str) {
    if let Some(server) = Postgres::shared() {
        let url = server.url(options);
        crash::run("the_part_that_is_killed", &url, &|| open(&url));
    }
}

#[test]
fn a_durable_engine_keeps_exactly_what_it_acknowledged() {
    kill("durability=durable");
}

#[test]
fn a_relaxed_engine_survives_its_process() {
    kill("durability=relaxed");
}
