//! The journal of the embedded engine: recovery after a machine crash, and damage.
//!
//! A machine crash is simulated by a copy of the directory in use, without `journal.head`, which is ignored after a
//! restart.
#![cfg(feature = "embedded")]

mod opening;

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind as ErrorKindOfFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_drivers::open;
use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, Version};
use espalier_testkit::seed;
use rand::Rng;
use tempfile::TempDir;

use crate::opening::refusal;

const DURABLE: &str = "durability=durable";
const RELAXED: &str = "durability=relaxed";

/// Bytes before the first frame of a segment.
const SEGMENT_HEADER_BYTES: usize = 64;

fn url(dir: &Path, options: &str) -> String {
    format!("embedded:{}?{options}", dir.display())
}

fn opened(dir: &Path, options: &str) -> Arc<dyn Driver> {
    open(&url(dir, options)).expect("the directory opens")
}

fn put(driver: &dyn Driver, number: usize) -> Version {
    let mut batch = Batch::new();
    batch.put(format!("key {number:05}"), vec![number as u8; 40]);
    driver.commit(batch).expect("a commit").version
}

/// A commit that is too large for the journal.
fn put_large(driver: &dyn Driver) -> Version {
    let mut batch = Batch::new();
    batch.put("large", vec![1; 2 << 20]);
    driver.commit(batch).expect("a large commit").version
}

fn numbers(driver: &dyn Driver) -> Vec<usize> {
    let snapshot = driver.snapshot().expect("a snapshot");
    let range = KeyRange::prefix(b"key ");
    let mut cursor = snapshot.scan(&range, Direction::Forward).expect("a scan");
    let mut numbers = Vec::new();
    while let Some((key, value)) = cursor.next().expect("a step") {
        let number = std::str::from_utf8(&key[4..]).expect("a number");
        let number = number.parse::<usize>().expect("a number");
        assert!(value == vec![number as u8; 40]);
        numbers.push(number);
    }
    numbers
}

/// A copy of a directory as a machine crash would leave it.
fn after_machine_crash(dir: &Path) -> TempDir {
    let left = after_process_crash(dir);
    fs::remove_file(left.path().join("journal.head")).expect("a head");
    left
}

/// A copy of a directory as a process crash would leave it. The data file is copied last: it contains commits that
/// are merged during the copy.
fn after_process_crash(dir: &Path) -> TempDir {
    let copy = tempfile::tempdir().expect("a directory");
    let names = fs::read_dir(dir).expect("a directory");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let is_journal = |name: &OsString| name != "lock.mdb" && name != "data.mdb";
    for name in names.filter(is_journal).chain([OsString::from("data.mdb")]) {
        match fs::copy(dir.join(&name), copy.path().join(&name)) {
            Err(error) if error.kind() == ErrorKindOfFile::NotFound => {}
            copied => _ = copied.expect("a copy"),
        }
    }
    copy
}

/// The newest segment.
fn segment(dir: &Path) -> PathBuf {
    let segments = fs::read_dir(dir).expect("a directory").filter_map(|entry| {
        let path = entry.expect("an entry").path();
        let number = path.extension()?.to_str()?.parse::<u64>().ok()?;
        Some((number, path))
    });
    segments.max().expect("a segment").1
}

/// The offsets of the frames of a segment, found by their magic bytes, and the end of the last one.
fn frames(segment: &[u8]) -> Vec<usize> {
    let mut ends = vec![SEGMENT_HEADER_BYTES];
    while let Some(header) = segment
        .get(ends[ends.len() - 1]..)
        .filter(|rest| rest.starts_with(b"rows"))
    {
        let length = u32::from_le_bytes(header[4..8].try_into().expect("four bytes"));
        ends.push(ends[ends.len() - 1] + 20 + length as usize);
    }
    ends
}

#[test]
fn all_commits_survive_a_machine_crash() {
    for options in [DURABLE, RELAXED, "durability=durable&journal_size=4K"] {
        let dir = tempfile::tempdir().expect("a directory");
        let driver = opened(dir.path(), options);
        for number in 0..300 {
            let version = put(&*driver, number);
            if number % 50 == 7 {
                let left = after_machine_crash(dir.path());
                let after = opened(left.path(), options);
                assert_eq!(
                    numbers(&*after),
                    (0..=number).collect::<Vec<_>>(),
                    "{options}"
                );
                assert!(after.snapshot().expect("a snapshot").version() >= version);
                assert!(put(&*after, number + 1) > version);
                assert_eq!(after.check().expect("a check"), []);
            }
            if number == 150 {
                put_large(&*driver);
            }
        }
    }
}

/// If the newest frame is incomplete, exactly the commits before it remain.
#[test]
fn an_incomplete_frame_is_discarded() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), RELAXED);
    (0..20).for_each(|number| _ = put(&*driver, number));
    let left = after_machine_crash(dir.path());
    let newest = segment(left.path());
    let original = fs::read(&newest).expect("the segment");
    let ends = frames(&original);
    assert_eq!(ends.len(), 21);
    for cut in [ends[19] + 1, ends[19] + 19, ends[19] + 30, ends[20] - 1] {
        fs::write(&newest, &original[..cut]).expect("cut");
        let _ = fs::remove_file(left.path().join("journal.head"));
        let after = opened(left.path(), RELAXED);
        assert_eq!(
            numbers(&*after),
            (0..19).collect::<Vec<_>>(),
            "cut at {cut}"
        );
        drop(after);
    }
}

/// A relaxed engine may lose a write in the middle and have a later one on disk: all commits from the lost one on are
/// discarded, and do not reappear after later commits.
#[test]
fn commits_after_a_lost_one_never_reappear() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), RELAXED);
    (0..20).for_each(|number| _ = put(&*driver, number));
    let left = after_machine_crash(dir.path());
    let newest = segment(left.path());
    let mut bytes = fs::read(&newest).expect("the segment");
    let ends = frames(&bytes);
    bytes[ends[10]..ends[11]].fill(0);
    fs::write(&newest, &bytes).expect("a hole");
    let after = opened(left.path(), RELAXED);
    assert_eq!(numbers(&*after), (0..10).collect::<Vec<_>>());
    // Of the same length as the lost frame.
    put(&*after, 90);
    let again = after_machine_crash(left.path());
    let expected = (0..10).chain([90]).collect::<Vec<_>>();
    assert_eq!(numbers(&*opened(again.path(), RELAXED)), expected);
}

/// Damage of a durable journal is an error that names its offset, and the files are not changed.
#[test]
fn a_damaged_byte_is_reported_and_nothing_is_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), DURABLE);
    (0..20).for_each(|number| _ = put(&*driver, number));
    for left in [
        after_machine_crash(dir.path()),
        after_process_crash(dir.path()),
    ] {
        let newest = segment(left.path());
        let original = fs::read(&newest).expect("the segment");
        let ends = frames(&original);
        seed::run("a damaged byte", |random| {
            for _ in 0..20 {
                let mut damaged = original.clone();
                let at = random.random_range(ends[0]..ends[19]);
                damaged[at] ^= 1 << random.random_range(0..8);
                fs::write(&newest, &damaged).expect("damaged");
                let (kind, message) = refusal(open(&url(left.path(), DURABLE)));
                assert_eq!(kind, ErrorKind::Corrupt, "{message}");
                let frame = ends.iter().rfind(|end| **end <= at).expect("a frame");
                assert!(message.contains(&format!("at byte {frame};")), "{message}");
            }
        });
        fs::write(&newest, &original).expect("restored");
        assert_eq!(numbers(&*opened(left.path(), DURABLE)).len(), 20);
    }
}

#[test]
fn a_damaged_byte_is_found_by_a_check() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), DURABLE);
    (0..20).for_each(|number| _ = put(&*driver, number));
    let newest = segment(dir.path());
    let mut bytes = fs::read(&newest).expect("the segment");
    let frame = frames(&bytes)[5];
    bytes[frame + 30] ^= 1;
    fs::write(&newest, &bytes).expect("damaged");
    let findings = driver.check().expect("a check");
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(
        findings[0].problem.contains(&format!("at byte {frame};")),
        "{findings:?}"
    );
    // The commits in memory are not damaged.
    assert_eq!(numbers(&*driver).len(), 20);
}

#[test]
fn a_missing_segment_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), DURABLE);
    put(&*driver, 1);
    let left = after_process_crash(dir.path());
    fs::remove_file(segment(left.path())).expect("a segment");
    let (kind, message) = refusal(open(&url(left.path(), DURABLE)));
    assert_eq!(kind, ErrorKind::Corrupt);
    assert!(message.contains("is missing"), "{message}");
}

#[test]
fn an_older_data_file_under_a_journal_is_rejected() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), DURABLE);
    put_large(&*driver);
    let older = after_process_crash(dir.path());
    put_large(&*driver);
    put(&*driver, 1);
    drop(driver);
    fs::copy(older.path().join("data.mdb"), dir.path().join("data.mdb")).expect("a copy");
    fs::remove_file(dir.path().join("journal.head")).expect("a head");
    let (kind, message) = refusal(open(&url(dir.path(), DURABLE)));
    assert_eq!(kind, ErrorKind::Corrupt);
    assert!(
        message.contains("continues a data.mdb that is not there"),
        "{message}"
    );
}

/// The process or the machine crashes between a commit to LMDB and the creation of the segment after it.
#[test]
fn a_large_commit_survives_without_the_segment_after_it() {
    for machine in [true, false] {
        let dir = tempfile::tempdir().expect("a directory");
        let driver = opened(dir.path(), DURABLE);
        (0..9).for_each(|number| _ = put(&*driver, number));
        let before = put(&*driver, 9);
        let left = match machine {
            true => after_machine_crash(dir.path()),
            false => after_process_crash(dir.path()),
        };
        let version = put_large(&*driver);
        drop(driver);
        fs::copy(dir.path().join("data.mdb"), left.path().join("data.mdb")).expect("a copy");
        let after = opened(left.path(), DURABLE);
        let snapshot = after.snapshot().expect("a snapshot");
        assert!(before < snapshot.version());
        assert_eq!(snapshot.version(), version);
        assert!(snapshot.get(b"large").expect("a get").is_some());
        assert_eq!(numbers(&*after), (0..10).collect::<Vec<_>>());
        assert!(put(&*after, 10) > version);
        assert_eq!(numbers(&*after), (0..11).collect::<Vec<_>>());
        assert_eq!(after.usage().expect("usage").keys, 12);
    }
}

#[test]
fn a_directory_of_the_format_without_a_journal_is_upgraded() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), DURABLE);
    (0..10).for_each(|number| _ = put(&*driver, number));
    driver.flush_all().expect("merged");
    drop(driver);
    for name in [
        "journal.head",
        segment(dir.path()).to_str().expect("a name"),
    ] {
        fs::remove_file(dir.path().join(name)).expect("a file of the journal");
    }
    let format = dir.path().join("espalier.format");
    fs::write(&format, "espalier embedded 1\n").expect("the format");
    let driver = opened(dir.path(), DURABLE);
    put(&*driver, 10);
    assert_eq!(numbers(&*driver), (0..11).collect::<Vec<_>>());
    assert_eq!(
        fs::read_to_string(&format).expect("a text"),
        "espalier embedded 3\n"
    );
}

/// Format 2 has no removed ranges in its journal.
#[test]
fn a_directory_of_the_format_without_removed_ranges_is_upgraded() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), DURABLE);
    (0..10).for_each(|number| _ = put(&*driver, number));
    let left = after_process_crash(dir.path());
    let format = left.path().join("espalier.format");
    fs::write(&format, "espalier embedded 2\n").expect("the format");
    let driver = opened(left.path(), DURABLE);
    assert_eq!(numbers(&*driver), (0..10).collect::<Vec<_>>());
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::new("key 00002", "key 00005"));
    driver.commit(batch).expect("a commit");
    assert_eq!(
        fs::read_to_string(&format).expect("a text"),
        "espalier embedded 3\n"
    );
    let again = after_machine_crash(left.path());
    let expected = [0, 1, 5, 6, 7, 8, 9];
    assert_eq!(numbers(&*opened(again.path(), DURABLE)), expected);
}

/// Merged commits do not take space in the journal.
#[test]
fn merged_segments_are_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), "durability=relaxed&journal_size=4K");
    (0..2000).for_each(|number| _ = put(&*driver, number % 10));
    driver.flush_all().expect("merged");
    let names = fs::read_dir(dir.path()).expect("a directory");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let names: Vec<_> = names.filter(|name| name != "journal.head").collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(
        fs::metadata(segment(dir.path())).expect("a segment").len(),
        64
    );
    assert_eq!(numbers(&*driver), (0..10).collect::<Vec<_>>());
}

/// A process crashed after it created the next segment and before it published it. Other processes continued the
/// segment before it, and then the machine crashed.
#[test]
fn a_segment_that_was_not_published_is_ignored() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = opened(dir.path(), DURABLE);
    (0..10).for_each(|number| _ = put(&*driver, number));
    let left = after_machine_crash(dir.path());
    driver.flush_all().expect("merged");
    let next = segment(dir.path());
    drop(driver);
    let after = opened(left.path(), DURABLE);
    put(&*after, 10);
    drop(after);
    let stale = left.path().join(next.file_name().expect("a name"));
    fs::copy(&next, &stale).expect("a copy");
    fs::remove_file(left.path().join("journal.head")).expect("a head");
    let after = opened(left.path(), DURABLE);
    assert!(!stale.exists());
    put(&*after, 11);
    let again = after_machine_crash(left.path());
    assert_eq!(
        numbers(&*opened(again.path(), DURABLE)),
        (0..12).collect::<Vec<_>>()
    );
}
