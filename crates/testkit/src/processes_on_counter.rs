//! Two processes that increment one counter.

use std::sync::Arc;

use espalier_keyspace::{Batch, Driver, ErrorKind, counter};

use crate::process::{self, Part, say};

/// Number of commits of each process.
pub const COMMITS: i64 = 200;

/// The name of the test that calls [`part`].
pub const PART: &str = "part_counting";

/// The key of the counter.
const COUNT: &[u8] = b"count";

/// Increments the counter in a child process: the body of the test [`PART`].
pub fn part(open: impl FnOnce(&str) -> Arc<dyn Driver>) {
    if let Some(url) = process::argument() {
        let driver = open(&url);
        say("open");
        count(&*driver);
    }
}

/// Increments a counter in this process and in a child process concurrently: no update is lost.
pub fn two_processes_count_exactly(driver: &dyn Driver, url: &str) {
    let mut part = Part::start(PART, url);
    assert_eq!(part.line().as_deref(), Some("open"));
    count(driver);
    part.finish();
    let snapshot = driver.snapshot().expect("a snapshot");
    let sum = snapshot.get(COUNT).expect("a get");
    let expected = counter::encode(2 * COMMITS);
    assert_eq!(sum.as_deref(), Some(&expected[..]));
    assert_eq!(driver.check().expect("a check"), []);
}

/// Increments the counter by reading it and committing with a precondition.
fn count(driver: &dyn Driver) {
    let mut left = COMMITS;
    while left > 0 {
        let snapshot = driver.snapshot().expect("a snapshot");
        let held = snapshot.get(COUNT).expect("a get");
        let held = held.map(std::borrow::Cow::into_owned);
        let sum = counter::decode(COUNT, held.as_deref()).expect("a counter") + 1;
        let mut batch = Batch::new();
        batch.require(COUNT, held);
        batch.put(COUNT, counter::encode(sum));
        match driver.commit(batch) {
            Ok(_) => left -= 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
        }
    }
}
