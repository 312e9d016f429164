//! The SQLite driver after its process was killed.
#![cfg(feature = "sqlite")]

mod killed_process;

#[test]
fn child_that_is_killed() {
    killed_process::part();
}

fn kill(options: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("sqlite:{}?{options}", dir.path().join("data.db").display());
    killed_process::run(&url);
}

#[test]
fn a_durable_engine_keeps_exactly_the_acknowledged_commits() {
    kill("durability=durable");
}

#[test]
fn a_relaxed_engine_survives_its_process() {
    kill("durability=relaxed");
}
