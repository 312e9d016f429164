//! Threads that add to a counter while something is hurt.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use espalier_keyspace::{Batch, Driver, ErrorKind, counter};

/// Threads that add.
const THREADS: u8 = 3;

/// What the counter [`add_while`] adds to holds.
pub fn sum(driver: &dyn Driver) -> i64 {
    let snapshot = driver.snapshot().expect("a snapshot");
    let sum = snapshot.get(b"sum").expect("a get");
    counter::decode(b"sum", sum.as_deref()).expect("a counter")
}

/// Adds from several threads while `hurt` does its worst. What was acknowledged is there, once;
/// what is unknown may be.
pub fn add_while(driver: &dyn Driver, hurt: impl FnOnce()) {
    let (done, known, unknown) = (AtomicBool::new(false), AtomicI64::new(0), AtomicI64::new(0));
    let before = sum(driver);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (done, known, unknown) = (&done, &known, &unknown);
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    let mut batch = Batch::new();
                    batch.add("sum", 1);
                    batch.add([thread], 1);
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
