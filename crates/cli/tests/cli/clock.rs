//! Clocks that are wrong for a while, in the binary itself: `libfaketime` moves the wall clock, and leaves the monotonic
//! one alone, as a clock that is set does.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::documents::store;
use crate::process::{Bench, Outcome};

const MTU: &str = "/ietf-interfaces:interfaces/interface=eth0/ietf-ip:ipv4/mtu";
const AHEAD: &str = "+3650d";
const BEHIND: &str = "-3650d";

/// The library that moves the clock.
fn library() -> String {
    let folders = fs::read_dir("/usr/lib").expect("libraries").flatten();
    let libraries = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    let found: Option<PathBuf> = libraries.into_iter().find(|library| library.exists());
    let found = found.expect("libfaketime: `make servers` installs the package faketime");
    found.display().to_string()
}

/// The environment in which the clock is moved: by so much, or as a file says that is read each time.
fn moved<'a>(library: &'a str, name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("LD_PRELOAD", library),
        (name, value),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
        ("FAKETIME_NO_CACHE", "1"),
    ]
}

fn run_at(bench: &Bench, offset: &str, arguments: &[&str]) -> Outcome {
    let library = library();
    bench.run_with(arguments, b"", &moved(&library, "FAKETIME", offset))
}

/// The versions of the history, newest first: number, year, and whether the clock is marked as wrong.
fn history(bench: &Bench, access: &[&str]) -> Vec<(u64, i32, bool)> {
    let text = bench.run(&[&["history", "--json"], access].concat()).ok();
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

fn this_year(bench: &Bench, access: &[&str]) -> i32 {
    history(bench, access)[0].1
}

/// One commit with a clock that is ten years ahead: the next has its own time, nothing young is deleted, and it is
/// said.
#[test]
fn a_clock_that_was_ahead_once_neither_stamps_later_commits_nor_ages_earlier_ones() {
    let (bench, access) = store();
    let year = this_year(&bench, &access);
    let keep = ["history", "--keep-age", "30d"];
    bench.run(&[&keep, &access[..]].concat()).ok();
    for mtu in ["1600", "1700", "1800"] {
        bench.run(&[&["set", MTU, mtu], &access[..]].concat()).ok();
    }
    for mtu in ["1900", "2000"] {
        run_at(&bench, AHEAD, &[&["set", MTU, mtu], &access[..]].concat()).ok();
    }
    let next = bench.run(&[&["set", MTU, "2100"], &access[..]].concat());
    assert!(next.stderr.contains("clock"), "{next:?}");
    next.ok();
    let told = history(&bench, &access);
    let years: Vec<_> = told
        .iter()
        .map(|(version, year, _)| (*version, *year))
        .collect();
    assert_eq!(years.len(), 7, "{told:?}");
    assert!(years[0].1 <= year + 1 && years[1].1 >= year + 9, "{told:?}");
    let marked: Vec<_> = told
        .iter()
        .filter(|told| told.2)
        .map(|told| told.0)
        .collect();
    assert_eq!(marked, [6, 5], "{told:?}");
    let text = bench.run(&[&["history"], &access[..]].concat()).ok();
    assert_eq!(text.matches("clock was ahead").count(), 2, "{text}");
    let check = bench.run(&[&["check"], &access[..]].concat());
    assert!(check.stderr.contains("a clock was ahead"), "{check:?}");
    assert!(check.ok().contains("nothing is wrong"));
    bench.run(&[&["rollback", "4"], &access[..]].concat()).ok();
}

/// A clock that is behind stamps its own time, and those after it theirs.
#[test]
fn a_clock_that_was_behind_once_is_left_behind() {
    let (bench, access) = store();
    let year = this_year(&bench, &access);
    run_at(
        &bench,
        BEHIND,
        &[&["set", MTU, "1600"], &access[..]].concat(),
    )
    .ok();
    bench
        .run(&[&["set", MTU, "1700"], &access[..]].concat())
        .ok();
    let told = history(&bench, &access);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].1 >= year && told[1].1 < year - 8, "{told:?}");
    bench.run(&[&["check"], &access[..]].concat()).ok();
}

/// A commit that waits so many seconds for its confirmation.
fn confirmed(bench: &Bench, access: &[&str], seconds: &str, offset: &str) {
    let set = ["set", MTU, "9000", "--datastore", "candidate"];
    run_at(bench, offset, &[&set, access].concat()).ok();
    let commit = ["commit", "--confirmed", seconds, "--persist", "p"];
    run_at(bench, offset, &[&commit, access].concat()).ok();
}

fn mtu(bench: &Bench, access: &[&str], offset: &str) -> u64 {
    let value = run_at(bench, offset, &[&["get", MTU], access].concat()).json();
    value["ietf-ip:mtu"].as_u64().expect("a number")
}

/// Until it is rolled back, for at most a minute and a half.
fn wait_for_rollback(mtu: impl Fn() -> u64) {
    let start = Instant::now();
    while mtu() != 1500 {
        assert!(start.elapsed() < Duration::from_secs(90), "it still waits");
        thread::sleep(Duration::from_millis(200));
    }
}

/// Processes of a machine whose clocks are moved, in both directions, agree on how long a confirmed commit waits.
#[test]
fn a_confirmed_commit_waits_by_the_time_that_goes_by() {
    for (made, asked) in [("+0d", BEHIND), (AHEAD, "+0d")] {
        let (bench, access) = store();
        confirmed(&bench, &access, "4", made);
        assert_eq!(mtu(&bench, &access, asked), 9000, "{made} {asked}");
        wait_for_rollback(|| mtu(&bench, &access, asked));
    }
    for (made, asked) in [("+0d", AHEAD), (BEHIND, "+0d")] {
        let (bench, access) = store();
        confirmed(&bench, &access, "600", made);
        assert_eq!(mtu(&bench, &access, asked), 9000, "{made} {asked}");
        let confirm = ["commit", "--persist-id", "p"];
        run_at(&bench, asked, &[&confirm, &access[..]].concat()).ok();
        assert_eq!(mtu(&bench, &access, "+0d"), 9000);
    }
}

/// The clock of a server is set while it runs: it goes on with the time that goes by.
#[test]
fn a_server_whose_clock_is_set_neither_forgets_nor_rolls_back_too_early() {
    for (step, year_later) in [(AHEAD, true), (BEHIND, false)] {
        let (bench, access) = store();
        let year = this_year(&bench, &access);
        let keep = ["history", "--keep-age", "30d"];
        bench.run(&[&keep, &access[..]].concat()).ok();
        let clock = bench.path("clock");
        fs::write(&clock, "+0d").expect("a file");
        let (library, clock_path) = (library(), clock.display().to_string());
        let moved = moved(&library, "FAKETIME_TIMESTAMP_FILE", &clock_path);
        let server = bench.serve_in(&access, &moved);
        let through = ["--server", server.url.as_str()];
        bench
            .run(&[&["set", MTU, "1600"], &through[..]].concat())
            .ok();
        bench
            .run(&[&["set", MTU, "1500"], &through[..]].concat())
            .ok();
        confirmed(&bench, &through, "5", "+0d");
        fs::write(&clock, step).expect("a file");
        let waits = bench.run(&[&["get", MTU], &through[..]].concat()).json();
        assert_eq!(waits["ietf-ip:mtu"], 9000, "{step}");
        wait_for_rollback(|| {
            let value = bench.run(&[&["get", MTU], &through[..]].concat()).json();
            value["ietf-ip:mtu"].as_u64().expect("a number")
        });
        bench
            .run(&[&["set", MTU, "1700"], &through[..]].concat())
            .ok();
        assert_eq!(history(&bench, &through)[0].1 > year + 8, year_later);
        fs::write(&clock, "+0d").expect("a file");
        bench
            .run(&[&["set", MTU, "1800"], &through[..]].concat())
            .ok();
        let told = history(&bench, &through);
        assert!((year..=year + 1).contains(&told[0].1), "{told:?}");
        assert_eq!(told.len(), 7, "{step}: {told:?}");
    }
}
