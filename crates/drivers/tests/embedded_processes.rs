//! The embedded driver in several processes, and in processes with limits.
#![cfg(feature = "embedded")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Batch, Change, Driver, ErrorKind, KeyRange, WatchEvent, counter};
use espalier_testkit::disk::mounted;
use espalier_testkit::process::{self, Part, say};
use espalier_testkit::processes_on_counter;

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the directory opens")
}

fn url(dir: &Path) -> String {
    format!("embedded:{}?durability=relaxed", dir.display())
}

#[test]
fn part_counting() {
    processes_on_counter::part(open);
}

#[test]
fn two_processes_count_exactly() {
    for options in ["", "&journal_size=4K"] {
        let dir = tempfile::tempdir().expect("a directory");
        let url = url(dir.path()) + options;
        processes_on_counter::two_processes_count_exactly(&*open(&url), &url);
    }
}

/// A watch reports each commit of another process with its changes, in order, also across segments.
#[test]
fn another_process_is_watched() {
    for options in ["", "&journal_size=4K"] {
        let dir = tempfile::tempdir().expect("a directory");
        let url = url(dir.path()) + options;
        let driver = open(&url);
        let start = driver.snapshot().expect("a snapshot").version();
        let mut watch = driver.watch(KeyRange::all(), start).expect("a watch");
        let part = Part::start(processes_on_counter::PART, &url);
        for number in 1..=processes_on_counter::COMMITS {
            let event = watch.next(Duration::from_secs(20)).expect("a watch");
            let Some(WatchEvent::Commit { version, changes }) = event else {
                panic!("{event:?} is no commit");
            };
            assert_eq!(version.0, start.0 + number as u64);
            let (key, value) = (b"count".to_vec(), counter::encode(number).to_vec());
            assert_eq!(changes, [Change::Put { key, value }]);
        }
        part.finish();
        let mut batch = Batch::new();
        batch.put("own", "value");
        let own = driver.commit(batch).expect("a commit").version;
        let event = watch.next(Duration::from_secs(20)).expect("a watch");
        let is_own = matches!(event, Some(WatchEvent::Commit { version, .. }) if version == own);
        assert!(is_own, "{event:?}");
    }
}

#[test]
fn part_loading() {
    if let Some(url) = process::argument() {
        let driver = open(&url);
        let written = driver.write(&[], &mut |writer| writer.put(b"loaded", b"value"));
        written.expect("a write");
        let mut batch = Batch::new();
        batch.put("after", "value");
        driver.commit(batch).expect("a commit");
    }
}

/// The changes of a streamed write of another process, which bypasses the journal, are not available; those of later
/// commits are.
#[test]
fn a_write_of_another_process_is_a_gap() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = url(dir.path());
    let driver = open(&url);
    let mut watch = driver
        .watch(KeyRange::all(), Default::default())
        .expect("a watch");
    Part::start("part_loading", &url).finish();
    let newest = driver.snapshot().expect("a snapshot").version();
    let mut reported = Vec::new();
    while reported.last() != Some(&newest) {
        match watch.next(Duration::from_secs(20)).expect("a watch") {
            Some(WatchEvent::Commit { version, .. } | WatchEvent::Gap { version }) => {
                reported.push(version);
            }
            None => panic!("{newest:?} is not reported"),
        }
    }
    assert!(reported.is_sorted());
    let snapshot = driver.snapshot().expect("a snapshot");
    assert!(snapshot.get(b"loaded").expect("a get").is_some());
    assert!(snapshot.get(b"after").expect("a get").is_some());
}

/// A commit of another process is visible when a watch reports it, even while that process is still flushing it.
#[test]
fn a_commit_of_another_process_is_visible_when_it_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("embedded:{}?durability=durable", dir.path().display());
    let driver = open(&url);
    let start = driver.snapshot().expect("a snapshot").version();
    let mut watch = driver.watch(KeyRange::all(), start).expect("a watch");
    let part = Part::start(processes_on_counter::PART, &url);
    let mut reported = start;
    while reported.0 < start.0 + processes_on_counter::COMMITS as u64 {
        // Varies the moment of the read within a commit.
        let event = watch
            .next(Duration::from_micros(reported.0 % 97))
            .expect("a watch");
        if let Some(WatchEvent::Commit { version, .. } | WatchEvent::Gap { version }) = event {
            let shown = driver.snapshot().expect("a snapshot").version();
            assert!(
                shown >= version,
                "{shown:?} is visible after {version:?} was reported"
            );
            reported = version;
        }
    }
    part.finish();
}

#[test]
fn part_growing() {
    let Some(url) = process::argument() else {
        return;
    };
    let driver = open(&url);
    for number in 0..200u32 {
        let mut batch = Batch::new();
        batch.put(number.to_be_bytes(), vec![0; 100_000]);
        driver.commit(batch).expect("a commit");
    }
}

#[test]
fn a_map_that_another_process_grows_is_remapped() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("{}&map_size=1M", url(dir.path()));
    let driver = open(&url);
    let reader = driver.snapshot().expect("a snapshot");
    Part::start("part_growing", &url).finish();
    assert!(reader.get(b"\0\0\0\0").expect("a get").is_none());
    drop(reader);
    let snapshot = driver.snapshot().expect("a snapshot of the grown file");
    assert!(
        snapshot
            .get(&199u32.to_be_bytes())
            .expect("a get")
            .is_some()
    );
    drop(snapshot);
    let mut batch = Batch::new();
    batch.put("key", vec![0; 1_000_000]);
    driver.commit(batch).expect("a commit to the grown file");
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
        let url = format!("embedded:{}?durability={durability}", dir.path().display());
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

#[test]
fn part_in_little_address_space() {
    if let Some(url) = process::argument() {
        let driver = open(&url);
        let mut batch = Batch::new();
        batch.put("key", "value");
        driver.commit(batch).expect("a commit");
        let written = driver.write(&[], &mut |writer| writer.put(b"other", b"value"));
        written.expect("a write");
    }
}

#[test]
fn little_address_space_is_enough() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = url(dir.path());
    Part::start_limited("-v 3000000", "part_in_little_address_space", &url).finish();
    assert_eq!(open(&url).usage().expect("usage").keys, 2);
}

/// Watches reported commits from before their start if these happened while the directory was opened.
#[test]
fn a_watch_after_opening_during_commits_reports_only_later_ones() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = url(dir.path());
    let first = open(&url);
    let mut batch = Batch::new();
    batch.put("count", counter::encode(0));
    first.commit(batch).expect("a commit");
    drop(first);
    let mut part = Part::start("part_counting", &url);
    assert_eq!(part.line().as_deref(), Some("open"));
    for _ in 0..200 {
        let driver = open(&url);
        let after = driver.snapshot().expect("a snapshot").version();
        let mut watch = driver.watch(KeyRange::all(), after).expect("a watch");
        let mut last = after;
        for _ in 0..3 {
            let event = watch.next(Duration::ZERO).expect("a watch");
            let version = match event {
                Some(WatchEvent::Commit { version, .. } | WatchEvent::Gap { version }) => version,
                _ => break,
            };
            assert!(version > last, "{version:?} after {last:?}");
            last = version;
        }
    }
    part.finish();
}

#[test]
fn part_writing_without_an_end() {
    if let Some(url) = process::argument() {
        let never = open(&url).write(&[], &mut |writer| {
            writer.put(b"key", b"never")?;
            say("writing");
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        });
        panic!("{never:?}");
    }
}

/// Opening, reading and closing waited for a writer of another process.
#[test]
fn an_endless_write_does_not_block_readers() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = url(dir.path());
    let mut batch = Batch::new();
    // Too large to stay in the journal when the directory is closed.
    (0..2000).for_each(|number| batch.put(format!("key {number}"), [7; 50]));
    open(&url).commit(batch).expect("a commit");
    let mut part = Part::start("part_writing_without_an_end", &url);
    assert_eq!(part.line().as_deref(), Some("writing"));
    part.halt();
    let start = std::time::Instant::now();
    for _ in 0..3 {
        let driver = open(&url);
        let snapshot = driver.snapshot().expect("a snapshot");
        assert!(snapshot.get(b"key 7").expect("a get").is_some());
        assert_eq!(snapshot.get(b"key").expect("a get"), None);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "it waited");
    part.kill();
    let mut batch = Batch::new();
    batch.put("key", "after");
    open(&url).commit(batch).expect("a commit");
}
