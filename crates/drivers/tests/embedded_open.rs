//! Opening directories with the embedded driver: existing files, damage, and concurrent use.
#![cfg(feature = "embedded")]

mod opening;
mod read_only_mount;

use std::fs;
use std::path::Path;

use espalier_drivers::embedded::{Config, Durability, Embedded};
use espalier_drivers::open;
use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange};
use espalier_testkit::seed;
use rand::Rng;

use crate::opening::{put, refusal};
use crate::read_only_mount::check_read_only;

fn url(dir: &Path) -> String {
    format!("embedded:{}", dir.display())
}

#[test]
fn a_missing_directory_is_created() {
    let dir = tempfile::tempdir().expect("a directory");
    let deep = dir.path().join("a/b c/ü");
    put(&*open(&url(&deep)).expect("made"), "key");
    assert!(deep.join("data.mdb").is_file());
    assert!(deep.join("espalier.format").is_file());
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

/// It was reported as a missing segment of the journal.
#[test]
fn a_missing_data_file_is_reported_as_such() {
    let dir = tempfile::tempdir().expect("a directory");
    put(&*open(&url(dir.path())).expect("made"), "key");
    let data = dir.path().join("data.mdb");
    let kept = fs::read(&data).expect("the file");
    fs::remove_file(&data).expect("removed");
    let (kind, message) = refusal(open(&url(dir.path())));
    assert_eq!(kind, ErrorKind::Corrupt);
    assert!(message.contains("data.mdb in"), "{message}");
    assert!(!data.exists());
    fs::write(&data, kept).expect("put back");
    open(&url(dir.path())).expect("opens again");
}

#[test]
fn a_foreign_database_is_rejected() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(open(&url(dir.path())).expect("opens"));
    fs::remove_file(dir.path().join("espalier.format")).expect("removed");
    let (kind, message) = refusal(open(&url(dir.path())));
    assert_eq!(kind, ErrorKind::WrongVersion);
    assert!(message.contains("did not write"), "{message}");
}

#[test]
fn a_read_only_folder() {
    check_read_only(|dir, name| url(&dir.join(name)));
}

#[test]
fn another_format_is_rejected() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(open(&url(dir.path())).expect("opens"));
    let format = dir.path().join("espalier.format");
    for (text, expected, part) in [
        (
            "espalier embedded 4\n",
            ErrorKind::WrongVersion,
            "has format 4",
        ),
        ("espalier embedded \n", ErrorKind::Corrupt, "damaged"),
        ("", ErrorKind::Corrupt, "damaged"),
    ] {
        fs::write(&format, text).expect("written");
        let (kind, message) = refusal(open(&url(dir.path())));
        assert_eq!(kind, expected);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn garbage_is_corrupt() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(open(&url(dir.path())).expect("opens"));
    fs::write(dir.path().join("data.mdb"), vec![0x5a; 100_000]).expect("written");
    assert_eq!(refusal(open(&url(dir.path()))).0, ErrorKind::Corrupt);
}

#[test]
fn a_truncated_file_is_corrupt() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = open(&url(dir.path())).expect("opens");
    (0..500).for_each(|number| put(&*driver, &format!("key {number}")));
    drop(driver);
    let data = dir.path().join("data.mdb");
    let original = fs::read(&data).expect("the data");
    for pages in [2, 3, 10, original.len() / 4096 / 2] {
        fs::write(&data, &original[..pages * 4096]).expect("cut");
        let (kind, message) = refusal(open(&url(dir.path())));
        assert_eq!(kind, ErrorKind::Corrupt, "{message}");
    }
    fs::write(&data, &original).expect("restored");
    let driver = open(&url(dir.path())).expect("opens");
    assert_eq!(driver.check().expect("a check"), []);
}

/// The messages named `data.mdb` without its directory.
#[test]
fn damage_is_reported_with_the_path_of_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = open(&url(dir.path())).expect("opens");
    (0..500).for_each(|number| put(&*driver, &format!("key {number}")));
    drop(driver);
    let data = dir.path().canonicalize().expect("a path").join("data.mdb");
    let names_it = |message: &str| assert!(message.contains(&*data.to_string_lossy()), "{message}");
    let original = fs::read(&data).expect("the data");
    let mut damaged = original.clone();
    damaged[2 * 4096..].fill(0);
    fs::write(&data, &damaged).expect("written");
    let driver = open(&url(dir.path())).expect("the meta pages are sound");
    names_it(&driver.check().expect("a check")[0].place);
    names_it(&refusal(driver.usage()).1);
    drop(driver);
    fs::write(&data, &original[..original.len() / 2]).expect("cut");
    names_it(&refusal(open(&url(dir.path()))).1);
    fs::write(&data, vec![0x5a; 100_000]).expect("garbage");
    names_it(&refusal(open(&url(dir.path()))).1);
}

/// A check finds damage at random offsets of pages, and does not crash.
#[test]
fn damaged_pages_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = open(&url(dir.path())).expect("opens");
    (0..300).for_each(|number| put(&*driver, &format!("key {number}")));
    let mut batch = Batch::new();
    batch.put("large", vec![1; 50_000]);
    driver.commit(batch).expect("a commit");
    drop(driver);
    let data = dir.path().join("data.mdb");
    let original = fs::read(&data).expect("the data");
    let mut found = 0;
    seed::run("damaged pages", |random| {
        for _ in 0..100 {
            let mut damaged = original.clone();
            let page = random.random_range(2..original.len() / 4096) * 4096;
            match random.random_range(0..3) {
                0 => damaged[page..page + 4096].fill(0),
                1 => damaged[page..page + 16].fill(0xff),
                _ => (0..20).for_each(|_| {
                    damaged[page + random.random_range(0..64)] = random.random();
                }),
            }
            fs::write(&data, &damaged).expect("written");
            let driver = open(&url(dir.path())).expect("the meta pages are sound");
            found += u32::from(!driver.check().expect("a check").is_empty());
        }
    });
    assert!(found > 0, "no damage was ever found");
}

/// Swaps the first and the last row of every leaf page, so that the keys are out of order.
fn swap_rows(data: &mut [u8]) {
    const LEAF: u8 = 0x02;
    const HEADER: usize = 16;
    for page in data.chunks_exact_mut(4096).skip(2) {
        let rows = usize::from(u16::from_le_bytes([page[12], page[13]])).saturating_sub(HEADER) / 2;
        if page[10] != LEAF || page[11] != 0 || rows < 4 {
            continue;
        }
        let last = HEADER + 2 * (rows - 1);
        for byte in 0..2 {
            page.swap(HEADER + byte, last + byte);
        }
    }
}

/// A reader that seeks past each key of a damaged page looped over the same keys for ever.
#[test]
fn unordered_keys_are_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut batch = Batch::new();
    (0..3000).for_each(|number| batch.put(format!("key {number:05}"), [7; 30]));
    // Too large for the journal.
    batch.put("large", vec![1; 2 << 20]);
    let driver = open(&url(dir.path())).expect("opens");
    driver.commit(batch).expect("a commit");
    drop(driver);
    let data = dir.path().join("data.mdb");
    let mut damaged = fs::read(&data).expect("the data");
    swap_rows(&mut damaged);
    fs::write(&data, &damaged).expect("written");
    let driver = open(&url(dir.path())).expect("the meta pages are sound");
    let snapshot = driver.snapshot().expect("a snapshot");
    for direction in [Direction::Forward, Direction::Backward] {
        for seeks in [false, true] {
            let mut cursor = snapshot.scan(&KeyRange::all(), direction).expect("a scan");
            let mut count = 0;
            loop {
                count += 1;
                assert!(count < 10_000, "an endless scan");
                let key = match cursor.next() {
                    Ok(Some((key, _))) => key.to_vec(),
                    // A seek may have skipped the damaged keys.
                    Ok(None) => break assert!(seeks, "damage is not reported"),
                    Err(error) => break assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
                };
                if seeks {
                    let target = match direction {
                        Direction::Forward => [key.as_slice(), b"\0"].concat(),
                        Direction::Backward => key[..key.len() - 1].to_vec(),
                    };
                    cursor.seek(&target).expect("a seek");
                }
            }
        }
    }
}

#[test]
fn one_process_shares_a_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let one = open(&url(dir.path())).expect("opens");
    let other = open(&format!("{}/.", url(dir.path()))).expect("the same directory");
    put(&*one, "key");
    let snapshot = other.snapshot().expect("a snapshot");
    assert!(snapshot.get(b"key").expect("a get").is_some());
    let relaxed = format!("{}?durability=relaxed", url(dir.path()));
    assert_eq!(refusal(open(&relaxed)).0, ErrorKind::Locked);
    drop((one, other));
    assert_eq!(refusal(open(&relaxed)).0, ErrorKind::Locked);
    assert!(snapshot.get(b"key").expect("the engine lives on").is_some());
    drop(snapshot);
    open(&relaxed).expect("it is closed");
}

#[test]
fn too_many_snapshots_are_rejected_until_some_are_dropped() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver = open(&url(dir.path())).expect("opens");
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
    assert_eq!(held.len(), espalier_drivers::embedded::READERS_MAX as usize);
    held.truncate(held.len() - 1);
    driver.snapshot().expect("there is space again");
    put(&*driver, "writers need no slot");
}

#[test]
fn concurrent_opening_and_closing() {
    let dir = tempfile::tempdir().expect("a directory");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let url = url(dir.path());
            scope.spawn(move || {
                for number in 0..20 {
                    let driver = open(&url).expect("opens");
                    put(&*driver, &format!("{thread} {number}"));
                }
            });
        }
    });
    let driver = open(&url(dir.path())).expect("opens");
    assert_eq!(driver.usage().expect("usage").keys, 80);
}

/// A map of 1 MiB that has to grow.
fn without_headroom(dir: &std::path::Path) -> Embedded {
    let mut config = Config::new(dir);
    config.durability = Durability::Relaxed;
    config.map_bytes = Some(1 << 20);
    config.headroom_bytes = 0;
    config.journal_bytes = 64 << 10;
    Embedded::open(config).expect("opens")
}

#[test]
fn a_small_map_grows_under_readers() {
    let dir = tempfile::tempdir().expect("a directory");
    let driver: std::sync::Arc<dyn Driver> = std::sync::Arc::new(without_headroom(dir.path()));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let snapshot = driver.snapshot().expect("a snapshot");
                    let mut cursor = snapshot
                        .scan(&KeyRange::all(), Direction::Backward)
                        .expect("a scan");
                    for _ in 0..50 {
                        cursor.next().expect("a step");
                    }
                }
            });
        }
        let put_all = || (0..20_000).for_each(|number| put(&*driver, &format!("key {number}")));
        let all = std::panic::catch_unwind(std::panic::AssertUnwindSafe(put_all));
        // Also after a failed put: the readers would not end otherwise.
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        all.expect("every put");
    });
    assert_eq!(driver.usage().expect("usage").keys, 20_000);
    assert_eq!(driver.check().expect("a check"), []);
}

/// A commit read LMDB's newest transaction from the map while the merging thread had unmapped it for a larger one: the
/// process crashed.
#[test]
fn commits_succeed_while_the_map_grows_in_the_background() {
    for _ in 0..10 {
        let dir = tempfile::tempdir().expect("a directory");
        let driver = without_headroom(dir.path());
        for number in 0..1000u32 {
            let mut batch = Batch::new();
            batch.put(number.to_be_bytes(), vec![7; 20_000]);
            driver.commit(batch).expect("a commit");
        }
        assert_eq!(driver.usage().expect("usage").keys, 1000);
    }
}
