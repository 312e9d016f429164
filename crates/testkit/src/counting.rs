//! Two processes that count together.

use std::sync::Arc;

use espalier_keyspace::{Batch, Driver, ErrorKind, counter};

use crate::process::{self, Part, say};

/// Commits that each process makes.
pub const COMMITS: i64 = 200;

/// The name of the test that calls [`part`].
pub const PART: &str = "part_counting";

/// The counter.
const COUNT: &[u8] = b"count";

/// The part that counts in another process: what the test [`PART`] does.
pub fn part(open: impl FnOnce(&str) -> Arc<dyn Driver>) {
    if let Some(url) = process::argument() {
        let driver = open(&url);
        say("open");
        count(&*driver);
    }
}

/// Counts in this process and in another at once: nothing is lost.
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

/// Adds to the counter by reading and committing under a precondition.
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
