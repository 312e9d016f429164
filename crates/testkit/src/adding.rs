//! Threads that add to a counter while something is hurt.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Driver, ErrorKind, KeyRange, Watch, WatchEvent, counter};

/// Threads that add.
const THREADS: u8 = 3;

/// The counter.
const SUM: &[u8] = b"sum";

/// The longest that a watch may take to tell a commit.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the counter [`add_while`] adds to holds.
pub fn sum(driver: &dyn Driver) -> i64 {
    let snapshot = driver.snapshot().expect("a snapshot");
    let sum = snapshot.get(SUM).expect("a get");
    counter::decode(SUM, sum.as_deref()).expect("a counter")
}

/// Adds from several threads while `hurt` does its worst. What was acknowledged is there, once;
/// what is unknown may be.
pub fn add_while(driver: &dyn Driver, hurt: impl FnOnce()) {
    add_more_while(driver, &|thread, _, batch| batch.add([thread], 1), hurt);
}

/// The same with batches that do more than add: `more` is called with each, the number of its
/// thread, and how many this thread has made before. It must leave the counter alone.
pub fn add_more_while(
    driver: &dyn Driver,
    more: &(dyn Fn(u8, usize, &mut Batch) + Sync),
    hurt: impl FnOnce(),
) {
    let (done, known, unknown) = (AtomicBool::new(false), AtomicI64::new(0), AtomicI64::new(0));
    let before = sum(driver);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (done, known, unknown) = (&done, &known, &unknown);
            scope.spawn(move || {
                for number in 0.. {
                    if done.load(Ordering::Acquire) {
                        break;
                    }
                    let mut batch = Batch::new();
                    batch.add(SUM, 1);
                    more(thread, number, &mut batch);
                    match driver.commit(batch) {
                        Ok(_) => known.fetch_add(1, Ordering::Relaxed),
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
    let (known, unknown) = (known.into_inner(), unknown.into_inner());
    let added = sum(driver) - before;
    assert!(known > 0);
    assert!(
        added >= known && added <= known + unknown,
        "{added} after {known} acknowledged and {unknown} unknown"
    );
    assert_eq!(driver.check().expect("a check"), []);
}

/// A watch of the counter.
pub struct SumWatch {
    watch: Box<dyn Watch>,
    /// What the counter held when the last that was told was committed.
    told: i64,
}

impl SumWatch {
    /// Watches from now on.
    pub fn start(driver: &dyn Driver) -> Self {
        let version = driver.snapshot().expect("a snapshot").version();
        let watch = driver.watch(KeyRange::prefix(SUM), version);
        Self {
            watch: watch.expect("a watch"),
            told: sum(driver),
        }
    }

    /// Expects to be told of each commit up to now, one by one and none twice.
    pub fn assert_all_told(&mut self, driver: &dyn Driver) {
        let gap = self.follow(driver);
        assert_eq!(gap, None, "after {} commits", self.told);
    }

    /// The same where the engine may have forgotten some of them.
    pub fn assert_told_or_gap(&mut self, driver: &dyn Driver) {
        self.follow(driver);
    }

    /// Goes on to what the counter holds now, or to the first gap.
    fn follow(&mut self, driver: &dyn Driver) -> Option<WatchEvent> {
        let sum = sum(driver);
        while self.told < sum {
            match self.watch.next(PATIENCE).expect("a watch") {
                Some(WatchEvent::Commit { changes, .. }) => self.told += changes.len() as i64,
                Some(gap) => return Some(gap),
                None => panic!("{} of {sum} commits are told", self.told),
            }
        }
        assert_eq!(self.told, sum, "more is told than was added");
        None
    }
}
