//! Threads that add to a counter while faults occur.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Driver, ErrorKind, KeyRange, Watch, WatchEvent, counter};

/// Number of threads that add.
const THREADS: u8 = 3;

/// The key of the counter.
const SUM: &[u8] = b"sum";

/// The maximum delay of a watch event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

/// The value of the counter that [`add_while`] increments.
pub fn sum(driver: &dyn Driver) -> i64 {
    let snapshot = driver.snapshot().expect("a snapshot");
    let sum = snapshot.get(SUM).expect("a get");
    counter::decode(SUM, sum.as_deref()).expect("a counter")
}

/// Adds to the counter from several threads while `hurt` causes faults. Every acknowledged commit must have
/// been applied exactly once; those with an unknown outcome may have been.
pub fn add_while(driver: &dyn Driver, hurt: impl FnOnce()) {
    add_more_while(driver, &|thread, _, batch| batch.add([thread], 1), hurt);
}

/// Like [`add_while`], with batches that contain more operations: `more` is called with the number of the
/// thread, the number of batches it has made, and the batch. It must not change the counter.
pub fn add_more_while(
    driver: &dyn Driver,
    more: &(dyn Fn(u8, usize, &mut Batch) + Sync),
    hurt: impl FnOnce(),
) {
    let (done, acknowledged, unknown) =
        (AtomicBool::new(false), AtomicI64::new(0), AtomicI64::new(0));
    let before = sum(driver);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (done, acknowledged, unknown) = (&done, &acknowledged, &unknown);
            scope.spawn(move || {
                for number in 0.. {
                    if done.load(Ordering::Acquire) {
                        break;
                    }
                    let mut batch = Batch::new();
                    batch.add(SUM, 1);
                    more(thread, number, &mut batch);
                    match driver.commit(batch) {
                        Ok(_) => acknowledged.fetch_add(1, Ordering::Relaxed),
                        Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {
                            unknown.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
        hurt();
        done.store(true, Ordering::Release);
    });
    let (acknowledged, unknown) = (acknowledged.into_inner(), unknown.into_inner());
    let added = sum(driver) - before;
    assert!(acknowledged > 0);
    assert!(
        added >= acknowledged && added <= acknowledged + unknown,
        "{added} after {acknowledged} acknowledged and {unknown} unknown"
    );
    assert_eq!(driver.check().expect("a check"), []);
}

/// A watch of the counter.
pub struct SumWatch {
    watch: Box<dyn Watch>,
    /// The value of the counter at the last reported commit.
    reported_sum: i64,
}

impl SumWatch {
    /// Starts a watch.
    pub fn start(driver: &dyn Driver) -> Self {
        let version = driver.snapshot().expect("a snapshot").version();
        let watch = driver.watch(KeyRange::prefix(SUM), version);
        Self {
            watch: watch.expect("a watch"),
            reported_sum: sum(driver),
        }
    }

    /// Asserts that every commit so far is reported exactly once.
    pub fn assert_all_told(&mut self, driver: &dyn Driver) {
        let gap = self.follow(driver);
        assert_eq!(gap, None, "after {} commits", self.reported_sum);
    }

    /// Like [`Self::assert_all_told`], for engines that may report a gap.
    pub fn assert_told_or_gap(&mut self, driver: &dyn Driver) {
        self.follow(driver);
    }

    /// Reads events up to the current value of the counter, or to the first gap.
    fn follow(&mut self, driver: &dyn Driver) -> Option<WatchEvent> {
        let sum = sum(driver);
        while self.reported_sum < sum {
            match self.watch.next(EVENT_TIMEOUT).expect("a watch") {
                Some(WatchEvent::Commit { changes, .. }) => {
                    self.reported_sum += changes.len() as i64
                }
                Some(gap) => return Some(gap),
                None => panic!("{} of {sum} commits were reported", self.reported_sum),
            }
        }
        assert_eq!(
            self.reported_sum, sum,
            "more commits were reported than made"
        );
        None
    }
}
