//! The version of a snapshot matches its content, even if its thread is preempted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Driver};

/// More threads than cores, so that each is preempted at any point.
const READERS: usize = 8;

const LONG: Duration = Duration::from_secs(3);

/// LMDB reads the number of the newest transaction before its roots. A thread that was preempted between the two,
/// while two transactions were committed, got the roots of the second.
#[test]
fn a_snapshot_matches_its_version_during_commits() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("embedded:{}?durability=relaxed", folder.path().display());
    let driver = espalier_drivers::open(&url).expect("a driver");
    let commit = |number: u64| {
        let mut batch = Batch::new();
        batch.put(b"number", number.to_be_bytes());
        driver.commit(batch).expect("committed").version
    };
    let first = commit(0).0;
    let is_done = AtomicBool::new(false);
    let wrong = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|_| scope.spawn(|| read(&driver, first, &is_done)))
            .collect();
        let begun = Instant::now();
        let mut number = 0;
        while begun.elapsed() < LONG {
            number += 1;
            assert_eq!(commit(number).0, first + number);
        }
        is_done.store(true, Ordering::Relaxed);
        let wrong = readers
            .into_iter()
            .map(|reader| reader.join().expect("read"));
        wrong.sum::<u64>()
    });
    assert_eq!(wrong, 0, "snapshots whose content is not of their version");
}

/// Counts the snapshots whose content is not of their version.
fn read(driver: &Arc<dyn Driver>, first: u64, is_done: &AtomicBool) -> u64 {
    let mut wrong = 0;
    while !is_done.load(Ordering::Relaxed) {
        let snapshot = driver.snapshot().expect("a snapshot");
        let number = snapshot.get(b"number").expect("read").expect("a number");
        let number = u64::from_be_bytes(number.as_ref().try_into().expect("eight bytes"));
        wrong += u64::from(snapshot.version().0 != first + number);
    }
    wrong
}
