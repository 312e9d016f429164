//! The PostgreSQL driver after its process was killed.
#![cfg(feature = "postgres")]

mod killed_process;

use espalier_testkit::servers::Postgres;

#[test]
fn child_that_is_killed() {
    killed_process::part();
}

fn kill(options: &str) {
    if let Some(server) = Postgres::shared() {
        killed_process::run(&server.url(options));
    }
}

#[test]
fn a_durable_engine_keeps_exactly_the_acknowledged_commits() {
    kill("durability=durable");
}

#[test]
fn a_relaxed_engine_survives_its_process() {
    kill("durability=relaxed");
}
