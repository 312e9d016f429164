//! Opening directories with the file driver: what is there already, what is damaged, and who else is.
#![cfg(feature = "file")]

mod mounted;
mod opening;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use espalier_drivers::open;
use espalier_keyspace::{Batch, Driver, ErrorKind};
use espalier_testkit::disk::mounted;
use espalier_testkit::process::{self, Part, say};
use espalier_testkit::seed;
use rand::Rng;

use crate::mounted::check_read_only;
use crate::opening::refusal;

/// Bytes before the first record of a file.
const HEADER_BYTES: usize = 32;

/// Commits in a directory that was left by a crash.
const COMMITS: u32 = 20;

fn url(dir: &Path) -> String {
    format!("file:{}", dir.display())
}

/// Short, as some tests try every byte.
fn put(driver: &dyn Driver, key: &str) {
    let mut batch = Batch::new();
    batch.put(key, vec![7; 300]);
    driver.commit(batch).expect("a put");
}

/// The files of a directory as a crash leaves them: some rows in the data file, then some commits.
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

/// As if the machine had been stopped since: nobody knows whether it has written what is there.
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

/// How many of the commits are there, which are the first ones.
fn commits(driver: &dyn Driver) -> u32 {
    let snapshot = driver.snapshot().expect("a snapshot");
    let is_there = |number: u32| {
        let key = format!("key {number:02}");
        snapshot.get(key.as_bytes()).expect("a get").is_some()
    };
    let count = (0..COMMITS).filter(|&number| is_there(number)).count() as u32;
    assert!(
        (0..count).all(is_there),
        "a commit is missing in the middle"
    );
    assert_eq!(driver.check().expect("a check"), []);
    count
}

#[test]
fn missing_folders_are_made() {
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
fn a_later_format_is_refused_and_left_alone() {
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

/// Wherever the journal ends, the commits before are whole, and later ones work.
#[test]
fn a_torn_end_is_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let torn = dir.path().join("torn");
    let whole = fs::read(file_of(&left, "journal")).expect("the journal");
    let mut last = 0;
    for length in (0..whole.len()).step_by(7) {
        copy(&left, &torn);
        let mut cut = whole[..length].to_vec();
        if length % 2 == 0 {
            // Space that was reserved and never written.
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

/// A record that was flushed, as later ones tell, is damaged and not torn.
#[test]
fn damage_in_the_middle_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let damaged = dir.path().join("damaged");
    copy(&left, &damaged);
    let path = file_of(&damaged, "journal");
    let whole = fs::read(&path).expect("the journal");
    let last_record = whole.len() - (whole.len() - HEADER_BYTES) / COMMITS as usize;
    seed::run("a damaged journal", |random| {
        for _ in 0..200 {
            let mut bytes = whole.clone();
            let at = random.random_range(0..last_record - 1);
            bytes[at] ^= 1 << random.random_range(0..8);
            fs::write(&path, &bytes).expect("written");
            let (kind, message) = refusal(open(&url(&damaged)));
            let place = format!("{} is damaged at byte ", path.display());
            assert_eq!(kind, ErrorKind::Corrupt, "{message}");
            let told = message.strip_prefix(&place).expect("file and byte");
            let digits = told.split(';').next().expect("a number");
            let told: usize = digits.parse().expect("a number");
            assert!(told <= at && at < told + 400, "{told} for {at}");
            assert_eq!(fs::read(&path).expect("the journal"), bytes);
        }
    });
}

/// It was cut as if it had never been written whole. After the machine was stopped nobody can tell.
#[test]
fn damage_in_the_last_record_is_refused_while_the_machine_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let path = file_of(&left, "journal");
    let whole = fs::read(&path).expect("the journal");
    let start = whole.len() - (whole.len() - HEADER_BYTES) / COMMITS as usize;
    // All but the length, which may say that more was to come.
    for at in (start..start + 4).chain(start + 8..whole.len()) {
        let mut bytes = whole.clone();
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
fn a_damaged_data_file_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let path = file_of(&left, "data");
    let whole = fs::read(&path).expect("the data");
    seed::run("a damaged data file", |random| {
        for _ in 0..100 {
            let mut bytes = whole.clone();
            match random.random_range(0..3) {
                0 => bytes[random.random_range(0..whole.len())] ^= 0x10,
                1 => bytes.truncate(random.random_range(0..whole.len())),
                _ => bytes.push(0),
            }
            fs::write(&path, &bytes).expect("written");
            let (kind, message) = refusal(open(&url(&left)));
            assert_eq!(kind, ErrorKind::Corrupt, "{message}");
            assert!(message.contains("espalier.data."), "{message}");
        }
    });
    fs::write(&path, &whole).expect("whole again");
    assert_eq!(commits(&*open(&url(&left)).expect("opens")), COMMITS);
}

/// Damage while the directory is open is told by a check.
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
    // What is in memory is whole, and so is what closing makes of it.
    drop(driver);
    let driver = open(&url(dir.path())).expect("opens");
    assert_eq!(driver.usage().expect("usage").keys, 3);
}

#[test]
fn missing_files_are_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let left = crashed(dir.path());
    let partly = dir.path().join("partly");
    for kind in ["data", "journal"] {
        copy(&left, &partly);
        fs::remove_file(file_of(&partly, kind)).expect("removed");
        let (refused, message) = refusal(open(&url(&partly)));
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
        std::io::stdin().read_line(&mut line).expect("told to end");
    }
}

#[test]
fn only_one_process_has_it_open() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut part = Part::start("part_holding", &url(dir.path()));
    let id = part.line().expect("its number");
    let (kind, message) = refusal(open(&url(dir.path())));
    assert_eq!(kind, ErrorKind::Locked);
    assert!(message.contains(&format!("process {id};")), "{message}");
    part.finish();
    let driver = open(&url(dir.path())).expect("it is free again");
    let (_, message) = refusal(open(&url(dir.path())));
    assert!(message.contains("this process"), "{message}");
    assert_eq!(driver.usage().expect("usage").keys, 1);
}

/// Commits until something fails, says how many did not, and that nothing is lost.
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
        "a commit that failed is there"
    );
    let mut batch = Batch::new();
    batch.put("small", "fits");
    driver.commit(batch).expect("there is room for little");
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
        put(&*driver, "there is room again");
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

/// A refused opening gives the lock back, while processes are being started that share open files.
#[test]
fn the_lock_is_given_back_where_opening_is_refused() {
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
