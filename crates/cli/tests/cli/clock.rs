//! Temporarily wrong clocks, in the binary: `libfaketime` moves the wall clock but not the monotonic clock, as
//! setting the clock does.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::interfaces_data::store;
use crate::process::{Outcome, Sandbox};

const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";
const AHEAD: &str = "+3650d";
const BEHIND: &str = "-3650d";

/// The path of `libfaketime`.
fn library() -> String {
    let folders = fs::read_dir("/usr/lib").expect("libraries").flatten();
    let libraries = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    let found: Option<PathBuf> = libraries.into_iter().find(|library| library.exists());
    let found = found.expect("libfaketime: `make servers` installs the package faketime");
    found.display().to_string()
}

/// The environment that moves the clock: by a fixed offset, or by the offset in a file that is read each time.
fn faketime_environment<'a>(
    library: &'a str,
    name: &'a str,
    value: &'a str,
) -> Vec<(&'a str, &'a str)> {
    vec![
        ("LD_PRELOAD", library),
        (name, value),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
        ("FAKETIME_NO_CACHE", "1"),
    ]
}

fn run_at(sandbox: &Sandbox, offset: &str, arguments: &[&str]) -> Outcome {
    let library = library();
    sandbox.run_with(
        arguments,
        b"",
        &faketime_environment(&library, "FAKETIME", offset),
    )
}

/// The versions of the history, newest first: number, year, and whether the clock is marked as ahead.
fn history(sandbox: &Sandbox, access: &[&str]) -> Vec<(u64, i32, bool)> {
    let text = sandbox.run(&[&["history", "--json"], access].concat()).ok();
    let commits = text.lines().map(|line| {
        let commit: Value = serde_json::from_str(line).expect("JSON");
        let year = commit["time"].as_str().expect("a time")[..4].parse();
        (
            commit["version"].as_u64().expect("a version"),
            year.expect("a year"),
            commit["clock-ahead"] == true,
        )
    });
    commits.collect()
}

fn this_year(sandbox: &Sandbox, access: &[&str]) -> i32 {
    history(sandbox, access)[0].1
}

/// A commit with a clock that is ten years ahead: the next commit has the correct time, no recent version is deleted,
/// and the history marks the commit.
#[test]
fn clock_that_was_ahead_once_affects_neither_later_times_nor_retention() {
    let (sandbox, access) = store();
    let year = this_year(&sandbox, &access);
    let keep = ["history", "--keep-age", "30d"];
    sandbox.run(&[&keep, &access[..]].concat()).ok();
    for mtu in ["1600", "1700", "1800"] {
        sandbox
            .run(&[&["set", MTU, mtu], &access[..]].concat())
            .ok();
    }
    for mtu in ["1900", "2000"] {
        run_at(&sandbox, AHEAD, &[&["set", MTU, mtu], &access[..]].concat()).ok();
    }
    let next = sandbox.run(&[&["set", MTU, "2100"], &access[..]].concat());
    assert!(next.stderr.contains("clock"), "{next:?}");
    next.ok();
    let commits = history(&sandbox, &access);
    let years: Vec<_> = commits
        .iter()
        .map(|(version, year, _)| (*version, *year))
        .collect();
    assert_eq!(years.len(), 7, "{commits:?}");
    assert!(
        years[0].1 <= year + 1 && years[1].1 >= year + 9,
        "{commits:?}"
    );
    let marked: Vec<_> = commits
        .iter()
        .filter(|commits| commits.2)
        .map(|commits| commits.0)
        .collect();
    assert_eq!(marked, [6, 5], "{commits:?}");
    let text = sandbox.run(&[&["history"], &access[..]].concat()).ok();
    assert_eq!(text.matches("clock was ahead").count(), 2, "{text}");
    let check = sandbox.run(&[&["check"], &access[..]].concat());
    assert!(check.stderr.contains("a clock was ahead"), "{check:?}");
    assert!(check.ok().contains("nothing is wrong"));
    sandbox
        .run(&[&["rollback", "4"], &access[..]].concat())
        .ok();
}

/// A commit with a clock that is behind has the wrong time; later commits have the correct time.
#[test]
fn clock_that_was_behind_once_does_not_affect_later_times() {
    let (sandbox, access) = store();
    let year = this_year(&sandbox, &access);
    run_at(
        &sandbox,
        BEHIND,
        &[&["set", MTU, "1600"], &access[..]].concat(),
    )
    .ok();
    sandbox
        .run(&[&["set", MTU, "1700"], &access[..]].concat())
        .ok();
    let commits = history(&sandbox, &access);
    assert_eq!(commits.len(), 3, "{commits:?}");
    assert!(
        commits[0].1 >= year && commits[1].1 < year - 8,
        "{commits:?}"
    );
    sandbox.run(&[&["check"], &access[..]].concat()).ok();
}

/// Makes a confirmed commit with a timeout of `seconds`.
fn confirmed(sandbox: &Sandbox, access: &[&str], seconds: &str, offset: &str) {
    let set = ["set", MTU, "9000", "--datastore", "candidate"];
    run_at(sandbox, offset, &[&set, access].concat()).ok();
    let commit = ["commit", "--confirmed", seconds, "--persist", "p"];
    run_at(sandbox, offset, &[&commit, access].concat()).ok();
}

fn mtu(sandbox: &Sandbox, access: &[&str], offset: &str) -> u64 {
    let value = run_at(sandbox, offset, &[&["get", MTU], access].concat()).json();
    value["ietf-ip:mtu"].as_u64().expect("a number")
}

/// Waits for the rollback, for at most 90 s.
fn wait_for_rollback(mtu: impl Fn() -> u64) {
    let start = Instant::now();
    while mtu() != 1500 {
        assert!(start.elapsed() < Duration::from_secs(90), "it still waits");
        thread::sleep(Duration::from_millis(200));
    }
}

/// Processes of one machine, with clocks moved in both directions, agree on the timeout of a confirmed commit.
#[test]
fn confirmed_commit_timeout_uses_elapsed_time() {
    for (made, asked) in [("+0d", BEHIND), (AHEAD, "+0d")] {
        let (sandbox, access) = store();
        confirmed(&sandbox, &access, "4", made);
        assert_eq!(mtu(&sandbox, &access, asked), 9000, "{made} {asked}");
        wait_for_rollback(|| mtu(&sandbox, &access, asked));
    }
    for (made, asked) in [("+0d", AHEAD), (BEHIND, "+0d")] {
        let (sandbox, access) = store();
        confirmed(&sandbox, &access, "600", made);
        assert_eq!(mtu(&sandbox, &access, asked), 9000, "{made} {asked}");
        let confirm = ["commit", "--persist-id", "p"];
        run_at(&sandbox, asked, &[&confirm, &access[..]].concat()).ok();
        assert_eq!(mtu(&sandbox, &access, "+0d"), 9000);
    }
}

/// If the clock of a running server is set, timeouts follow the elapsed time.
#[test]
fn setting_the_clock_of_a_server_does_not_change_the_confirm_timeout() {
    for (step, year_later) in [(AHEAD, true), (BEHIND, false)] {
        let (sandbox, access) = store();
        let year = this_year(&sandbox, &access);
        let keep = ["history", "--keep-age", "30d"];
        sandbox.run(&[&keep, &access[..]].concat()).ok();
        let clock = sandbox.path("clock");
        fs::write(&clock, "+0d").expect("a file");
        let (library, clock_path) = (library(), clock.display().to_string());
        let faketime_environment =
            faketime_environment(&library, "FAKETIME_TIMESTAMP_FILE", &clock_path);
        let server = sandbox.serve_in(&access, &faketime_environment);
        let server_access = ["--server", server.url.as_str()];
        sandbox
            .run(&[&["set", MTU, "1600"], &server_access[..]].concat())
            .ok();
        sandbox
            .run(&[&["set", MTU, "1500"], &server_access[..]].concat())
            .ok();
        confirmed(&sandbox, &server_access, "5", "+0d");
        fs::write(&clock, step).expect("a file");
        let waits = sandbox
            .run(&[&["get", MTU], &server_access[..]].concat())
            .json();
        assert_eq!(waits["ietf-ip:mtu"], 9000, "{step}");
        wait_for_rollback(|| {
            let value = sandbox
                .run(&[&["get", MTU], &server_access[..]].concat())
                .json();
            value["ietf-ip:mtu"].as_u64().expect("a number")
        });
        sandbox
            .run(&[&["set", MTU, "1700"], &server_access[..]].concat())
            .ok();
        assert_eq!(
            history(&sandbox, &server_access)[0].1 > year + 8,
            year_later
        );
        fs::write(&clock, "+0d").expect("a file");
        sandbox
            .run(&[&["set", MTU, "1800"], &server_access[..]].concat())
            .ok();
        let commits = history(&sandbox, &server_access);
        assert!((year..=year + 1).contains(&commits[0].1), "{commits:?}");
        assert_eq!(commits.len(), 7, "{step}: {commits:?}");
    }
}
