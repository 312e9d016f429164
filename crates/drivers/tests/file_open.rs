//! Opening directories with the file driver: existing files, damage, and concurrent use.
#![cfg(feature = "file")]

mod opening;
mod read_only_mount;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use espalier_drivers::open;
use espalier_keyspace::{Batch, Driver, ErrorKind};
use espalier_testkit::disk::mounted;
use espalier_testkit::process::{self, Part, say};
use espalier_testkit::seed;
use rand::Rng;

use crate::opening::refusal;
use crate::read_only_mount::check_read_only;

/// Bytes before the first record of a file.
const HEADER_BYTES: usize = 32;

/// Commits in a directory that was left by a crash.
const COMMITS: u32 = 20;

fn url(dir: &Path) -> String {
    format!("file:{}", dir.display())
}

/// Puts a short value, as some tests damage every byte.
fn put(driver: &dyn Driver, key: &str) {
    let mut batch = Batch::new();
    batch.put(key, vec![7; 300]);
    driver.commit(batch).expect("a put");
}

/// A directory as a crash leaves it: rows in the data file, and commits in the journal.
fn crashed(dir: &Path) -> PathBuf {
    let made = dir.join("made");
    let driver = open(&url(&made)).expect("opens");
    (0..300).for_each(|number| put(&*driver, &format!("first {number}")));
    drop(driver);
    let driver = open(&url(&made)).expect("opens");
    (0..COMMITS).for_each(|number| put(&*driver, &format!("key {number:02}")));
    let left = dir.join("left");
    copy(&made, &left);
    left
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

/// Simulates a restart of the machine since the files were written: they may not have been flushed.
fn restart_machine(dir: &Path) {
    let lock = dir.join("espalier.lock");
    let text = fs::read_to_string(&lock).expect("the lock");
    let holder = text.lines().next().expect("a process");
    fs::write(&lock, format!("{holder}\nanother boot\n")).expect("written");
}

fn file_of(dir: &Path, kind: &str) -> PathBuf {
    let mut found = fs::read_dir(dir).expect("a folder").filter_map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name()?.to_str()?.to_owned();
        name.starts_with(&format!("espalier.{kind}."))
            .then_some(path)
    });
    found.next().expect("such a file")
}

/// The number of commits that exist, which have to be the first ones.
fn commits(driver: &dyn Driver) -> u32 {
    let snapshot = driver.snapshot().expect("a snapshot");
    let exists = |number: u32| {
        let key = format!("key {number:02}");
        snapshot.get(key.as_bytes()).expect("a get").is_some()
    };
    let count = (0..COMMITS).filter(|&number| exists(number)).count() as u32;
    assert!((0..count).all(exists), "a commit is missing in the middle");
    assert_eq!(driver.check().expect("a check"), []);
    count
}

#[test]
fn missing_folders_are_created() {
    let dir = tempfile::tempdir().expect("a directory");
    let deep = dir.path().join("a/b c/ü");
    put(&*open(&url(&deep)).expect("made"), "key");
    assert!(deep.is_dir());
}

#[test]
fn a_file_in_place_of_the_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, "text").expect("a file");
    let (_, message) = refusal(open(&url(&file)));
    assert!(message.contains("is not a directory"), "{message}");
    assert!(open(&url(&file.join("below"))).is_err());
    assert_eq!(fs::read(&file).expect("the file"), b"text");
}

#[test]
fn a_later_format_is_rejected_and_left_unchanged() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    for kind in ["data", "journal"] {
        let path = file_of(&left, kind);
        let before = fs::read(&path).expect("the file");
        let mut later = before.clone();
        later[8] = 9;
        let sum = blake3::hash(&later[..24]);
        later[24..HEADER_BYTES].copy_from_slice(&sum.as_bytes()[..8]);
        fs::write(&path, &later).expect("written");
        let (refused, message) = refusal(open(&url(&left)));
        assert_eq!(refused, ErrorKind::WrongVersion, "{message}");
        assert!(message.contains("has format 9"), "{message}");
        assert_eq!(fs::read(&path).expect("the file"), later);
        fs::write(&path, before).expect("written");
    }
    assert_eq!(commits(&*open(&url(&left)).expect("opens")), COMMITS);
}

/// Wherever the journal is truncated, the commits before are complete, and later ones succeed.
#[test]
fn an_incomplete_end_is_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let torn = dir.path().join("torn");
    let original = fs::read(file_of(&left, "journal")).expect("the journal");
    let mut last = 0;
    for length in (0..original.len()).step_by(7) {
        copy(&left, &torn);
        let mut cut = original[..length].to_vec();
        if length % 2 == 0 {
            // Allocated space that was never written.
            cut.resize(length + 100, 0);
            restart_machine(&torn);
        }
        fs::write(file_of(&torn, "journal"), cut).expect("cut");
        if length < HEADER_BYTES && length % 2 == 0 {
            continue;
        }
        let driver = open(&url(&torn)).expect("opens");
        let found = commits(&*driver);
        assert!(found >= last && found < COMMITS, "{found} after {last}");
        last = found;
        put(&*driver, "later");
        drop(driver);
        let driver = open(&url(&torn)).expect("opens again");
        assert_eq!(driver.usage().expect("usage").keys, 301 + u64::from(found));
    }
    assert_eq!(last, COMMITS - 1);
}

/// A damaged record with records after it was flushed, so it is damage, and not an incomplete write.
#[test]
fn damage_in_the_middle_is_rejected() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let damaged = dir.path().join("damaged");
    copy(&left, &damaged);
    let path = file_of(&damaged, "journal");
    let original = fs::read(&path).expect("the journal");
    let last_record = original.len() - (original.len() - HEADER_BYTES) / COMMITS as usize;
    seed::run("a damaged journal", |random| {
        for _ in 0..200 {
            let mut bytes = original.clone();
            let at = random.random_range(0..last_record - 1);
            bytes[at] ^= 1 << random.random_range(0..8);
            fs::write(&path, &bytes).expect("written");
            let (kind, message) = refusal(open(&url(&damaged)));
            let prefix = format!("{} is damaged at byte ", path.display());
            assert_eq!(kind, ErrorKind::Corrupt, "{message}");
            let offset = message.strip_prefix(&prefix).expect("file and byte");
            let digits = offset.split(';').next().expect("a number");
            let offset: usize = digits.parse().expect("a number");
            assert!(offset <= at && at < offset + 400, "{offset} for {at}");
            assert_eq!(fs::read(&path).expect("the journal"), bytes);
        }
    });
}

/// A damaged last record was cut like an incomplete one. Only after a restart of the machine the two
/// cannot be distinguished.
#[test]
fn damage_in_the_last_record_is_rejected_without_a_restart_of_the_machine() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let path = file_of(&left, "journal");
    let original = fs::read(&path).expect("the journal");
    let start = original.len() - (original.len() - HEADER_BYTES) / COMMITS as usize;
    // All bytes but the length: with a damaged one, the record may look incomplete.
    for at in (start..start + 4).chain(start + 8..original.len()) {
        let mut bytes = original.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).expect("written");
        let (kind, message) = refusal(open(&url(&left)));
        assert_eq!(kind, ErrorKind::Corrupt, "{message}");
        assert!(
            message.contains(&format!("is damaged at byte {start};")),
            "{message}"
        );
        assert_eq!(fs::read(&path).expect("the journal"), bytes);
    }
    restart_machine(&left);
    assert_eq!(commits(&*open(&url(&left)).expect("opens")), COMMITS - 1);
}

#[test]
fn a_damaged_data_file_is_rejected() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let path = file_of(&left, "data");
    let original = fs::read(&path).expect("the data");
    seed::run("a damaged data file", |random| {
        for _ in 0..100 {
            let mut bytes = original.clone();
            match random.random_range(0..3) {
                0 => bytes[random.random_range(0..original.len())] ^= 0x10,
                1 => bytes.truncate(random.random_range(0..original.len())),
                _ => bytes.push(0),
            }
            fs::write(&path, &bytes).expect("written");
            let (kind, message) = refusal(open(&url(&left)));
            assert_eq!(kind, ErrorKind::Corrupt, "{message}");
            assert!(message.contains("espalier.data."), "{message}");
        }
    });
    fs::write(&path, &original).expect("restored");
    assert_eq!(commits(&*open(&url(&left)).expect("opens")), COMMITS);
}

/// A check reports damage while the directory is open.
#[test]
fn a_check_reads_the_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = open(&url(dir.path())).expect("opens");
    (0..3).for_each(|number| put(&*driver, &format!("key {number}")));
    assert_eq!(driver.check().expect("a check"), []);
    let path = file_of(dir.path(), "journal");
    let mut bytes = fs::read(&path).expect("the journal");
    bytes[HEADER_BYTES + 100] ^= 1;
    fs::write(&path, &bytes).expect("written");
    let findings = driver.check().expect("a check");
    assert!(findings[0].problem.contains("is damaged at byte 32"));
    // The data in memory is not damaged, and closing writes it.
    drop(driver);
    let driver = open(&url(dir.path())).expect("opens");
    assert_eq!(driver.usage().expect("usage").keys, 3);
}

#[test]
fn missing_files_are_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let incomplete = dir.path().join("incomplete");
    for kind in ["data", "journal"] {
        copy(&left, &incomplete);
        fs::remove_file(file_of(&incomplete, kind)).expect("removed");
        let (refused, message) = refusal(open(&url(&incomplete)));
        assert_eq!(refused, ErrorKind::Corrupt, "{message}");
        assert!(message.contains("is missing"), "{message}");
    }
}

#[test]
fn part_holding() {
    if let Some(url) = process::argument() {
        let driver = open(&url).expect("opens");
        put(&*driver, "theirs");
        say(&std::process::id().to_string());
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("a line");
    }
}

#[test]
fn only_one_process_can_open_a_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut part = Part::start("part_holding", &url(dir.path()));
    let id = part.line().expect("its number");
    let (kind, message) = refusal(open(&url(dir.path())));
    assert_eq!(kind, ErrorKind::Locked);
    assert!(message.contains(&format!("process {id};")), "{message}");
    part.finish();
    let driver = open(&url(dir.path())).expect("it is unlocked again");
    let (_, message) = refusal(open(&url(dir.path())));
    assert!(message.contains("this process"), "{message}");
    assert_eq!(driver.usage().expect("usage").keys, 1);
}

/// Commits until the disk is full, checks that nothing is lost, and prints the number of commits.
#[test]
fn part_filling() {
    let Some(url) = process::argument() else {
        return;
    };
    let driver = open(&url).expect("opens");
    let mut committed = 0u32;
    let error = loop {
        let mut batch = Batch::new();
        batch.put(committed.to_be_bytes(), vec![3; 100_000]);
        match driver.commit(batch) {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
    assert!(error.to_string().contains("nothing was committed"));
    let error = driver.write(&[], &mut |writer| {
        (0..1000u32).try_for_each(|number| writer.put(&number.to_le_bytes(), &[1; 100_000]))
    });
    assert_eq!(error.expect_err("full").kind(), ErrorKind::Full);
    let usage = driver.usage().expect("usage");
    assert_eq!(
        usage.keys,
        u64::from(committed),
        "a failed commit had an effect"
    );
    let mut batch = Batch::new();
    batch.put("small", "fits");
    driver.commit(batch).expect("a small commit fits");
    say(&committed.to_string());
}

fn check_filled(driver: &dyn Driver, committed: u64) {
    assert!(committed > 3, "only {committed} commits");
    assert_eq!(driver.usage().expect("usage").keys, committed + 1);
    assert_eq!(driver.check().expect("a check"), []);
}

#[test]
fn a_full_disk_changes_nothing() {
    for options in ["durability=durable", "durability=relaxed", "journal_size=1"] {
        let dir = tempfile::tempdir().expect("a directory");
        let url = format!("{}?{options}", url(dir.path()));
        let lines = Part::start_limited("-f 4000", "part_filling", &url).finish();
        let committed = lines[0].parse().expect("a number");
        let driver = open(&url).expect("opens");
        check_filled(&*driver, committed);
        put(&*driver, "there is space again");
    }
}

#[test]
fn a_full_file_system_changes_nothing() {
    mounted("size=3m", |dir| {
        let lines = Part::start("part_filling", &url(dir)).finish();
        let committed = lines[0].parse().expect("a number");
        check_filled(&*open(&url(dir)).expect("opens"), committed);
    });
}

#[test]
fn a_read_only_folder() {
    check_read_only(|dir, name| url(&dir.join(name)));
}

#[test]
fn the_journal_stays_bounded() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("{}?durability=relaxed&journal_size=1M", url(dir.path()));
    let driver = open(&url).expect("opens");
    for number in 0..2000u32 {
        let mut batch = Batch::new();
        batch.put((number % 20).to_be_bytes(), vec![3; 20_000]);
        driver.commit(batch).expect("a commit");
    }
    drop(driver);
    let bytes = |kind| File::open(file_of(dir.path(), kind)).expect("a file");
    let bytes = |kind| bytes(kind).metadata().expect("its length").len();
    assert!(bytes("data") < 500_000);
    assert_eq!(bytes("journal"), HEADER_BYTES as u64);
    let files = fs::read_dir(dir.path()).expect("a folder").count();
    assert_eq!(files, 3, "data, journal and lock");
}

/// A failed opening releases the lock, also while child processes that inherit open files are started.
#[test]
fn a_failed_opening_releases_the_lock() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let path = file_of(&left, "data");
    fs::write(&path, b"damaged").expect("written");
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                let started = std::process::Command::new("true").status();
                assert!(started.expect("a process").success());
            }
        });
        let kinds: Vec<_> = (0..300).map(|_| refusal(open(&url(&left))).0).collect();
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(
            kinds.iter().all(|kind| *kind == ErrorKind::Corrupt),
            "{kinds:?}"
        );
    });
}
