//! Opening files with the SQLite driver: existing files, damage, and concurrent use.
#![cfg(feature = "sqlite")]

mod long_values;
mod opening;
mod read_only_mount;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use espalier_drivers::open;
use espalier_keyspace::{Batch, Direction, ErrorKind, KeyRange, Result};
use espalier_testkit::seed;
use rand::Rng;
use rusqlite::Connection;

use crate::opening::{put, refusal};
use crate::read_only_mount::check_read_only;

fn url(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

/// A file with a few hundred keys, closed again.
fn filled(dir: &Path) -> std::path::PathBuf {
    let file = dir.join("data.db");
    let driver = open(&url(&file)).expect("opens");
    (0..300).for_each(|number| put(&*driver, &format!("key {number}")));
    file
}

#[test]
fn missing_folders_are_created() {
    let dir = tempfile::tempdir().expect("a directory");
    let deep = dir.path().join("a/b c/ü.db");
    put(&*open(&url(&deep)).expect("made"), "key");
    assert!(deep.is_file());
    let log = deep.with_file_name("ü.db-wal");
    assert!(
        !log.exists(),
        "the log is removed when the last driver closes"
    );
}

#[test]
fn a_folder_in_place_of_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let (_, message) = refusal(open(&url(dir.path())));
    assert!(message.contains("is a folder"), "{message}");
    let (_, message) = refusal(open("sqlite:/"));
    assert!(message.contains("is a folder"), "{message}");
    let file = dir.path().join("file");
    fs::write(&file, "text").expect("a file");
    assert!(open(&url(&file.join("below"))).is_err());
    assert_eq!(fs::read(&file).expect("the file"), b"text");
}

#[test]
fn an_empty_file_is_initialized() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("empty");
    fs::write(&file, "").expect("a file");
    put(&*open(&url(&file)).expect("opens"), "key");
}

#[test]
fn special_names_of_sqlite_are_file_names() {
    let dir = tempfile::tempdir().expect("a directory");
    for name in [":memory:", "file:x?mode=memory"] {
        let file = dir.path().join(name);
        let url = format!("{}?durability=relaxed", url(&file));
        put(&*open(&url).expect("opens"), "key");
        assert!(file.is_file());
    }
}

#[test]
fn a_foreign_file_is_rejected_and_left_unchanged() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = dir.path().join("text");
    fs::write(&text, "not a database, ".repeat(1000)).expect("a file");
    let foreign = dir.path().join("foreign.db");
    let other = Connection::open(&foreign).expect("a database");
    other
        .execute_batch("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")
        .expect("a table");
    drop(other);
    for (file, part) in [(text, "not a SQLite database"), (foreign, "did not write")] {
        let before = fs::read(&file).expect("the file");
        let (kind, message) = refusal(open(&url(&file)));
        assert_eq!(kind, ErrorKind::WrongVersion, "{message}");
        assert!(message.contains(part), "{message}");
        assert!(fs::read(&file).expect("the file") == before);
    }
}

#[test]
fn another_format_is_rejected() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = filled(dir.path());
    let later = Connection::open(&file).expect("the database");
    later
        .pragma_update(None, "user_version", 9)
        .expect("marked");
    drop(later);
    let (kind, message) = refusal(open(&url(&file)));
    assert_eq!(kind, ErrorKind::WrongVersion);
    assert!(message.contains("has format 9"), "{message}");
    let marked = Connection::open(&file).expect("the database");
    let keys: i64 = marked
        .query_row("SELECT count(*) FROM entries", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(keys, 300, "nothing was changed");
}

/// Readable columns are added and removed, and the keys stay.
#[test]
fn a_file_becomes_readable_and_plain_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = filled(dir.path());
    let columns = |file: &Path| -> i64 {
        let other = Connection::open(file).expect("the database");
        let count = "SELECT count(*) FROM pragma_table_info('entries')";
        other
            .query_row(count, [], |row| row.get(0))
            .expect("a count")
    };
    for (options, expected) in [
        ("", 3),
        ("?readable=true", 7),
        ("", 7),
        ("?readable=true", 7),
        ("?readable=false", 3),
        ("?readable=false", 3),
    ] {
        let driver = open(&format!("{}{options}", url(&file))).expect("opens");
        put(&*driver, "key 0");
        assert_eq!(columns(&file), expected, "{options}");
        assert_eq!(driver.check().expect("a check"), []);
        assert_eq!(driver.usage().expect("usage").keys, 300);
    }
}

#[test]
fn missing_tables_are_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = filled(dir.path());
    let other = Connection::open(&file).expect("the database");
    other.execute_batch("DROP TABLE state").expect("dropped");
    drop(other);
    let (kind, message) = refusal(open(&url(&file)));
    assert_eq!(kind, ErrorKind::Corrupt, "{message}");
}

/// A truncated page may leave a row without its columns, or a table without its row.
#[test]
fn a_missing_version_is_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = filled(dir.path());
    for lost in [
        "DROP TABLE state; CREATE TABLE state (id, version); INSERT INTO state VALUES (1, NULL)",
        "UPDATE state SET version = 'x'",
        "DELETE FROM state",
    ] {
        let other = Connection::open(&file).expect("the database");
        other.execute_batch(lost).expect("lost");
        drop(other);
        let (kind, message) = refusal(open(&url(&file)));
        assert_eq!(kind, ErrorKind::Corrupt, "{lost}: {message}");
    }
}

/// Damage at random offsets of pages is an error or a finding, and a check does not crash or change the file.
#[test]
fn damaged_pages_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = filled(dir.path());
    let original = fs::read(&file).expect("the data");
    let mut found = 0;
    seed::run("damaged pages", |random| {
        for _ in 0..100 {
            let mut damaged = original.clone();
            let page = random.random_range(0..original.len() / 4096) * 4096;
            match random.random_range(0..3) {
                0 => damaged[page..page + 4096].fill(0),
                1 => damaged[page..page + 16].fill(0xff),
                _ => (0..20).for_each(|_| {
                    damaged[page + random.random_range(0..64)] = random.random();
                }),
            }
            fs::write(&file, &damaged).expect("written");
            found += u32::from(is_damage_reported(&file));
        }
    });
    assert!(found > 50, "only {found} of 100 damages were reported");
    fs::write(&file, &original).expect("restored");
    let driver = open(&url(&file)).expect("opens");
    assert_eq!(driver.check().expect("a check"), []);
    assert_eq!(driver.usage().expect("usage").keys, 300);
}

fn is_damage_reported(file: &Path) -> bool {
    let driver = match open(&url(file)) {
        Ok(driver) => driver,
        Err(error) => {
            let kinds = [ErrorKind::Corrupt, ErrorKind::WrongVersion];
            assert!(kinds.contains(&error.kind()), "{error}");
            return true;
        }
    };
    let read = || {
        let snapshot = driver.snapshot()?;
        let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
        while cursor.next()?.is_some() {}
        Ok(())
    };
    let read: Result<()> = read();
    if let Err(error) = &read {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    !driver.check().expect("a check").is_empty()
}

/// A damaged log ends at the damage: the commits before it are complete, and later ones succeed.
#[test]
fn a_damaged_log_ends_at_the_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    let driver = open(&url(&file)).expect("opens");
    (0..20).for_each(|number| put(&*driver, &format!("key {number:02}")));
    // A copy of the file and its log, as a crash leaves them.
    let copy = dir.path().join("copy.db");
    fs::copy(&file, &copy).expect("copied");
    let mut log = fs::read(dir.path().join("data.db-wal")).expect("the log");
    drop(driver);
    let middle = log.len() / 2;
    log[middle] ^= 0x10;
    fs::write(dir.path().join("copy.db-wal"), &log).expect("the damaged log");
    let driver = open(&url(&copy)).expect("opens");
    assert_eq!(driver.check().expect("a check"), []);
    let keys = driver.usage().expect("usage").keys;
    assert!((1..20).contains(&keys), "{keys} keys");
    let snapshot = driver.snapshot().expect("a snapshot");
    for number in 0..20 {
        let value = snapshot.get(format!("key {number:02}").as_bytes());
        assert_eq!(value.expect("a get").is_some(), number < keys);
    }
    drop(snapshot);
    put(&*driver, "later");
}

#[test]
fn a_read_only_folder() {
    check_read_only(|dir, name| url(&dir.join(name)));
}

#[test]
fn too_many_snapshots_are_rejected_until_some_are_dropped() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = open(&url(&dir.path().join("data.db"))).expect("opens");
    put(&*driver, "key");
    let mut held = Vec::new();
    let error = loop {
        match driver.snapshot() {
            Ok(snapshot) => held.push(snapshot),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.is_retryable());
    assert_eq!(held.len(), espalier_drivers::sqlite::SNAPSHOTS_MAX);
    held.truncate(held.len() - 1);
    driver.snapshot().expect("there is space again");
    put(&*driver, "writers need no slot");
}

#[test]
fn concurrent_opening_and_closing() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let url = format!("{}?durability=relaxed", url(&file));
            scope.spawn(move || {
                for number in 0..20 {
                    let driver = open(&url).expect("opens");
                    put(&*driver, &format!("{thread} {number}"));
                }
            });
        }
    });
    let driver = open(&url(&file)).expect("opens");
    assert_eq!(driver.usage().expect("usage").keys, 80);
    assert_eq!(driver.check().expect("a check"), []);
}

/// Overlapping readers do not make the log grow without bound. (The values differ, as SQLite does not write unchanged
/// pages.)
#[test]
fn the_log_stays_bounded_under_readers() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("data.db");
    let driver = open(&format!("{}?durability=relaxed", url(&file))).expect("opens");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = driver.snapshot().expect("a snapshot");
            while !is_done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                let next = driver.snapshot().expect("a snapshot");
                drop(std::mem::replace(&mut held, next));
            }
        });
        for number in 0..300_u32 {
            let mut batch = Batch::new();
            batch.put((number % 20).to_be_bytes(), vec![number as u8; 1 << 20]);
            driver.commit(batch).expect("a commit");
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let log = fs::metadata(dir.path().join("data.db-wal")).expect("the log");
    let most = 3 * espalier_drivers::sqlite::LOG_BYTES_MAX;
    assert!(log.len() < most, "the log has {} bytes", log.len());
}
