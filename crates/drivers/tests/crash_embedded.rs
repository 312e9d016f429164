//! The embedded driver after its process was killed.
#![cfg(feature = "embedded")]

mod killed_process;

#[test]
fn child_that_is_killed() {
    killed_process::part();
}

fn kill(options: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("embedded:{}?{options}", dir.path().display());
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

#[test]
fn a_growing_map_survives_its_process() {
    kill("durability=relaxed&map_size=1M");
}

#[test]
fn a_journal_that_is_merged_all_the_time_survives_its_process() {
    kill("durability=durable&journal_size=4K");
}
