//! The PostgreSQL driver after its process was killed.
#![cfg(feature = "postgres")]

mod killed;

use espalier_testkit::servers::Postgres;

#[test]
fn the_part_that_is_killed() {
    killed::part();
}

fn kill(options: &str) {
    if let Some(server) = Postgres::shared() {
        killed::run(&server.url(options));
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
