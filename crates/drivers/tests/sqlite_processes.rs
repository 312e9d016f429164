//! The SQLite driver in several processes, and in processes with limits.
#![cfg(feature = "sqlite")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Batch, Driver, ErrorKind, KeyRange, WatchEvent};
use espalier_testkit::disk::mounted;
use espalier_testkit::process::{self, Part, say};
use espalier_testkit::processes_on_counter;

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the file opens")
}

fn url(dir: &Path) -> String {
    format!(
        "sqlite:{}?durability=relaxed",
        dir.join("data.db").display()
    )
}

#[test]
fn part_counting() {
    processes_on_counter::part(open);
}

#[test]
fn two_processes_count_exactly() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = url(dir.path());
    processes_on_counter::two_processes_count_exactly(&*open(&url), &url);
}

#[test]
fn another_process_is_watched() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = url(dir.path());
    let driver = open(&url);
    let start = driver.snapshot().expect("a snapshot").version();
    let mut watch = driver.watch(KeyRange::all(), start).expect("a watch");
    let part = Part::start(processes_on_counter::PART, &url);
    let event = watch.next(Duration::from_secs(20)).expect("a watch");
    let Some(WatchEvent::Gap { version }) = event else {
        panic!("{event:?} is no gap");
    };
    assert!(version > start && driver.snapshot().expect("a snapshot").version() >= version);
    part.finish();
    // A commit of this process is reported after the gap of the other one.
    let mut batch = Batch::new();
    batch.put("own", "value");
    let own = driver.commit(batch).expect("a commit").version;
    loop {
        match watch.next(Duration::from_secs(20)).expect("a watch") {
            Some(WatchEvent::Gap { version }) => assert!(version < own),
            Some(WatchEvent::Commit { version, .. }) => break assert_eq!(version, own),
            None => panic!("the commit is not reported"),
        }
    }
}

#[test]
fn part_filling() {
    let Some(url) = process::argument() else {
        return;
    };
    let driver = open(&url);
    let mut committed = 0u32;
    let error = loop {
        let mut batch = Batch::new();
        batch.put(committed.to_be_bytes(), vec![committed as u8; 50_000]);
        batch.put("last", committed.to_be_bytes());
        match driver.commit(batch) {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
        assert!(committed < 1_000, "nothing was ever full");
    };
    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    // The first fails at its commit, the second when it has changed more pages than fit in memory.
    for values in [1_000u32, 4_000] {
        let written = driver.write(&[], &mut |writer| {
            (0..values).try_for_each(|number| writer.put(&number.to_be_bytes(), &[9; 50_000]))
        });
        let error = written.expect_err("still full");
        assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    }
    check_filled(&*driver, committed);
    say(&committed.to_string());
}

/// Expects the state of the last commit that succeeded.
fn check_filled(driver: &dyn Driver, committed: u32) {
    assert!(committed > 0);
    assert_eq!(driver.check().expect("a check"), []);
    let snapshot = driver.snapshot().expect("a snapshot");
    let last = snapshot.get(b"last").expect("a get");
    assert_eq!(last.as_deref(), Some(&(committed - 1).to_be_bytes()[..]));
    for number in 0..=committed {
        let value = snapshot.get(&number.to_be_bytes()).expect("a get");
        let expected = (number < committed).then(|| vec![number as u8; 50_000]);
        assert!(value.as_deref() == expected.as_deref());
    }
    assert_eq!(
        driver.usage().expect("usage").keys,
        u64::from(committed) + 1
    );
}

#[test]
fn a_full_disk_changes_nothing() {
    for durability in ["durable", "relaxed"] {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("data.db");
        let url = format!("sqlite:{}?durability={durability}", file.display());
        let part = Part::start_limited("-f 4000", "part_filling", &url);
        let lines = part.finish();
        let committed = lines[0].parse().expect("a number");
        let driver = open(&url);
        check_filled(&*driver, committed);
        let mut batch = Batch::new();
        batch.put("key", vec![0; 1_000_000]);
        driver.commit(batch).expect("there is space again");
    }
}

/// The same on a full file system.
#[test]
fn a_full_file_system_changes_nothing() {
    mounted("size=3m", |disk| {
        Part::start("part_filling", &url(disk)).finish();
    });
}
