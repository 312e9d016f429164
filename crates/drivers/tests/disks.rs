//! Full and read-only disks: existing data can be read, a write that does not fit releases the space that it took,
//! and commits succeed again when there is space.

#![cfg(all(feature = "embedded", feature = "file", feature = "sqlite"))]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use espalier_drivers::embedded::{Config, Embedded};
use espalier_drivers::open;
use espalier_keyspace::{Batch, Driver, Error, ErrorKind, KeyRange, Writer};
use espalier_testkit::disk::{mount, mounted};
use espalier_testkit::process::{self, Part, say};

/// The engines with files, each in a folder of a disk.
const ENGINES: [&str; 3] = ["embedded", "sqlite", "file"];

fn url(engine: &str, disk: &Path) -> String {
    format!("{engine}:{}/store", disk.display())
}

fn opened(url: &str) -> Arc<dyn Driver> {
    open(url).unwrap_or_else(|error| panic!("{url} opens: {error}"))
}

/// Commits 8 kB at a time until the disk is full. Returns the number of commits.
fn fill(driver: &dyn Driver, name: &str) -> u32 {
    for number in 0.. {
        let mut batch = Batch::new();
        batch.put(format!("{name} {number}"), vec![number as u8; 8_000]);
        if let Err(error) = driver.commit(batch) {
            assert_eq!(error.kind(), ErrorKind::Full, "{error}");
            return number;
        }
    }
    unreachable!("the disk is never full")
}

/// Writes so many MiB in values that fit into a page.
fn put_all(writer: &mut dyn Writer, mebibytes: u32) -> espalier_keyspace::Result<()> {
    (0..mebibytes * 350).try_for_each(|number| {
        writer.put(format!("large {number}").as_bytes(), &[number as u8; 3000])
    })
}

/// The error of a write of so many MiB, which returns `end` if the disk does not fail it before.
fn write(driver: &dyn Driver, mebibytes: u32, end: Result<(), ErrorKind>) -> Error {
    let written = driver.write(&[], &mut |writer| {
        put_all(writer, mebibytes)?;
        end.map_err(|kind| Error::new(kind, "aborted"))
    });
    written.expect_err("it does not fit, or is aborted")
}

/// The number of commits that fit on a new disk after so many writes that do not fit, each before and after the store
/// is reopened.
fn fits_after(engine: &str, writes: u32) -> Option<u32> {
    let mut fits = None;
    mounted("size=6m", |disk| {
        let url = url(engine, disk);
        let mut driver = opened(&url);
        for _ in 0..writes {
            let error = write(&*driver, 12, Ok(()));
            assert_eq!(error.kind(), ErrorKind::Full, "{error}");
            drop(driver);
            driver = opened(&url);
            let error = write(&*driver, 12, Ok(()));
            assert_eq!(error.kind(), ErrorKind::Full, "{error}");
        }
        fits = Some(fill(&*driver, "key"));
    });
    fits
}

/// Writes that do not fit do not reduce the space for later ones.
#[test]
fn a_write_that_does_not_fit_releases_its_space() {
    for engine in ENGINES {
        let (Some(fresh), Some(after)) = (fits_after(engine, 0), fits_after(engine, 2)) else {
            return;
        };
        assert!(fresh > 50, "{engine}: {fresh}");
        assert!(after >= fresh * 9 / 10, "{engine}: {after} of {fresh}");
    }
}

/// The bytes of the files in a folder and its subfolders.
fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let sizes = entries.map(|entry| {
        let found = entry.metadata().expect("a file");
        match found.is_dir() {
            true => bytes(&entry.path()),
            false => found.len(),
        }
    });
    sizes.sum()
}

/// LMDB and SQLite keep up to 128 MiB and 64 MiB of a transaction in memory; they write the rest to their files before
/// the commit.
const SPILLING_MEBIBYTES: u32 = 160;

/// A write that is aborted at its end, as a load of invalid data is, does not leave larger files.
#[test]
fn an_aborted_write_releases_its_space() {
    for engine in ENGINES {
        let dir = tempfile::tempdir().expect("a directory");
        let driver = opened(&url(engine, dir.path()));
        fill_a_little(&*driver);
        let before = bytes(dir.path());
        let error = write(&*driver, SPILLING_MEBIBYTES, Err(ErrorKind::Aborted));
        assert_eq!(error.kind(), ErrorKind::Aborted, "{error}");
        let after = bytes(dir.path());
        assert!(
            after <= before + (8 << 20),
            "{engine}: {after}, {before} before"
        );
        assert_eq!(driver.check().expect("a check"), []);
        fill_a_little(&*driver);
    }
}

fn fill_a_little(driver: &dyn Driver) {
    let mut batch = Batch::new();
    (0..100).for_each(|number| batch.put(format!("key {number}"), [7; 500]));
    driver.commit(batch).expect("a commit");
}

#[test]
fn part_writing_for_ever() {
    if let Some(url) = process::argument() {
        let never = opened(&url).write(&[], &mut |writer| {
            put_all(writer, SPILLING_MEBIBYTES)?;
            say("written");
            std::thread::sleep(std::time::Duration::from_secs(600));
            Ok(())
        });
        panic!("{never:?}");
    }
}

/// The next process that opens the store removes the unfinished write of a killed process.
#[test]
fn a_write_whose_process_is_killed_releases_its_space() {
    for engine in ENGINES {
        let dir = tempfile::tempdir().expect("a directory");
        let url = url(engine, dir.path());
        fill_a_little(&*opened(&url));
        let before = bytes(dir.path());
        let mut part = Part::start("part_writing_for_ever", &url);
        assert_eq!(part.line().as_deref(), Some("written"));
        part.kill();
        drop(part);
        assert!(bytes(dir.path()) > before + (16 << 20), "{engine} spills");
        let driver = opened(&url);
        let after = bytes(dir.path());
        assert!(
            after <= before + (8 << 20),
            "{engine}: {after}, {before} before"
        );
        assert_eq!(driver.check().expect("a check"), []);
        assert_eq!(driver.usage().expect("usage").keys, 100);
    }
}

/// Other files have filled the disk: the store can be opened and read, commits fail with `Full`, and succeed when there
/// is space.
#[test]
fn a_store_on_a_full_disk_is_readable_and_commits_again_when_there_is_space() {
    for engine in ENGINES {
        mounted("size=8m", |disk| {
            let url = url(engine, disk);
            fill_a_little(&*opened(&url));
            let filler = disk.join("filler");
            // Fails when the disk is full.
            let _ = fs::write(&filler, vec![1; 16 << 20]);
            for _ in 0..2 {
                let driver = opened(&url);
                let snapshot = driver.snapshot().expect("a snapshot");
                assert!(snapshot.get(b"key 99").expect("a get").is_some());
                assert_eq!(driver.check().expect("a check"), []);
            }
            let driver = opened(&url);
            let mut batch = Batch::new();
            batch.put("large", vec![7; 3 << 20]);
            let error = driver.commit(batch.clone()).expect_err("no space");
            assert_eq!(error.kind(), ErrorKind::Full, "{engine}: {error}");
            fs::remove_file(&filler).expect("removed");
            driver
                .commit(batch)
                .unwrap_or_else(|error| panic!("{engine}: {error}"));
            drop(driver);
            let driver = opened(&url);
            assert_eq!(driver.usage().expect("usage").keys, 101);
            assert_eq!(driver.check().expect("a check"), []);
        });
    }
}

/// A disk that other files fill while a store is open: its commits can be read by the processes that open it next, and
/// no process that fails to write files when it ends makes the store unreadable for the next one.
#[test]
fn commits_before_the_disk_was_full_are_readable_in_every_next_process() {
    for engine in ENGINES {
        mounted("size=8m", |disk| {
            let url = url(engine, disk);
            let driver = opened(&url);
            fill_a_little(&*driver);
            let filler = disk.join("filler");
            // Fails when the disk is full.
            let _ = fs::write(&filler, vec![1; 16 << 20]);
            drop(driver);
            for _ in 0..3 {
                let driver = opened(&url);
                let snapshot = driver.snapshot().expect("a snapshot");
                assert!(snapshot.get(b"key 99").expect("a get").is_some());
                assert_eq!(driver.check().expect("a check"), [], "{engine}");
            }
            fs::remove_file(&filler).expect("removed");
            fill_a_little(&*opened(&url));
            let driver = opened(&url);
            assert_eq!(driver.usage().expect("usage").keys, 100);
            assert_eq!(driver.check().expect("a check"), []);
        });
    }
}

/// A store on a read-only file system can be read, including commits that are only in its journal. Commits fail with
/// an error that names the path.
#[test]
fn a_store_on_a_read_only_file_system_is_readable() {
    for engine in ENGINES {
        mounted("size=30m", |disk| {
            let url = url(engine, disk);
            let driver = opened(&url);
            fill_a_little(&*driver);
            let version = driver.snapshot().expect("a snapshot").version();
            drop(driver);
            mount(disk, &["-o", "remount,ro"]);
            for _ in 0..2 {
                let driver = opened(&url);
                let snapshot = driver.snapshot().expect("a snapshot");
                assert!(snapshot.version() >= version, "{engine}");
                assert!(snapshot.get(b"key 99").expect("a get").is_some());
                assert_eq!(driver.usage().expect("usage").keys, 100);
                assert_eq!(driver.check().expect("a check"), []);
                driver.flush().expect("nothing to flush");
                let mut batch = Batch::new();
                batch.put("key", "value");
                let refused = driver.commit(batch).expect_err("read-only");
                let written = driver.write(&[], &mut |writer| writer.put(b"key", b"value"));
                for error in [refused, written.expect_err("read-only")] {
                    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{engine}: {error}");
                    let path = disk.join("store").display().to_string();
                    assert!(error.to_string().contains(&path), "{engine}: {error}");
                }
            }
            mount(disk, &["-o", "remount,rw"]);
            fill_a_little(&*opened(&url));
        });
    }
}

#[test]
fn part_that_is_killed_after_a_commit() {
    if let Some(url) = process::argument() {
        let driver = opened(&url);
        fill_a_little(&*driver);
        say("committed");
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
}

/// The acknowledged commits of a killed process can be read on a read-only file system.
#[test]
fn the_store_of_a_killed_process_is_readable_on_a_read_only_file_system() {
    for engine in ENGINES {
        mounted("size=30m", |disk| {
            let url = url(engine, disk);
            drop(opened(&url));
            let mut part = Part::start("part_that_is_killed_after_a_commit", &url);
            assert_eq!(part.line().as_deref(), Some("committed"));
            part.kill();
            drop(part);
            mount(disk, &["-o", "remount,ro"]);
            let driver = opened(&url);
            let snapshot = driver.snapshot().expect("a snapshot");
            assert!(
                snapshot.get(b"key 99").expect("a get").is_some(),
                "{engine}"
            );
            drop(snapshot);
            drop(driver);
            mount(disk, &["-o", "remount,rw"]);
            assert_eq!(opened(&url).usage().expect("usage").keys, 100);
        });
    }
}

/// Snapshots of the same process and of another one do not keep the map from growing for a write.
#[test]
fn a_small_map_grows_for_a_large_write_while_snapshots_are_held() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!(
        "embedded:{}?map_size=1M&durability=relaxed",
        dir.path().display()
    );
    let driver = opened(&url);
    let held = driver.snapshot().expect("a snapshot");
    let other = Part::start("part_holding_a_snapshot", &url);
    let written = driver.write(&[], &mut |writer| put_all(writer, 40));
    written.expect("a write");
    assert_eq!(held.get(b"large 7").expect("a get"), None);
    let deleted = driver.write(&[], &mut |writer| writer.delete_range(&KeyRange::all()));
    deleted.expect("a write");
    drop(other);
}

#[test]
fn part_holding_a_snapshot() {
    if let Some(url) = process::argument() {
        let driver = opened(&url);
        let held = driver.snapshot().expect("a snapshot");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("an end");
        drop(held);
    }
}

/// If a map cannot grow, the error names the reason, and does not blame the disk.
#[test]
fn a_map_that_cannot_grow_names_the_snapshots_that_keep_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut config = Config::new(dir.path());
    config.map_bytes = Some(1 << 20);
    config.headroom_bytes = 0;
    let driver = Embedded::open(config).expect("opens");
    let held = driver.snapshot().expect("a snapshot");
    let error = write(&driver, 40, Ok(()));
    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("snapshots") && text.contains("not the disk"),
        "{text}"
    );
    drop(held);
    let written = driver.write(&[], &mut |writer| put_all(writer, 40));
    written.expect("a write");
}

#[test]
fn part_in_less_address_space_than_it_writes() {
    if let Some(url) = process::argument() {
        let driver = opened(&url);
        let error = write(&*driver, 1500, Ok(()));
        assert_eq!(error.kind(), ErrorKind::Full, "{error}");
        assert!(error.to_string().contains("ulimit -v"), "{error}");
        // The write had no effect, and smaller ones succeed.
        assert_eq!(driver.usage().expect("usage").keys, 0);
        fill_a_little(&*driver);
        let grown = driver.write(&[], &mut |writer| put_all(writer, 40));
        grown.expect("the map grows as far as there is address space");
    }
}

#[test]
fn a_map_that_cannot_grow_names_the_limit_of_the_address_space() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!(
        "embedded:{}?map_size=4M&durability=relaxed",
        dir.path().display()
    );
    Part::start_limited(
        "-v 1200000",
        "part_in_less_address_space_than_it_writes",
        &url,
    )
    .finish();
}
