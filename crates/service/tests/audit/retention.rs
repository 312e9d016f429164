//! Old records are deleted by count and by age, in bounded steps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_keyspace::{Driver, Result, Snapshot, forward_driver};
use espalier_service::audit::{
    AuditMode, AuditSettings, PRUNE_STEP_MAX, prune_step, stored_records,
};
use espalier_store::Clock;
use parking_lot::Mutex;

use crate::fixture::{Fixture, NOON, append, edit, on_every_engine};

fn count(fixture: &Fixture) -> u64 {
    stored_records(&*fixture.driver.snapshot().expect("a snapshot")).expect("a count")
}

#[test]
fn a_step_deletes_the_oldest_records_that_exceed_the_limits() {
    on_every_engine(|fixture| {
        let log = fixture.log();
        let numbers = 0..PRUNE_STEP_MAX as u64 + 500;
        for number in numbers.clone() {
            append(&log, edit("ada", &number.to_string()));
            fixture.clock.advance_ms(1000);
        }
        log.close();
        let now = fixture.clock.now();
        let step = |records_max, age_seconds_max| {
            let settings = AuditSettings {
                records_max,
                age_seconds_max,
                ..AuditSettings::default()
            };
            let pruned = prune_step(&*fixture.driver, &settings, now).expect("a step");
            let records = fixture.records();
            assert_eq!(count(&fixture), records.len() as u64);
            let newest = numbers
                .clone()
                .skip(numbers.clone().count() - records.len());
            let found = records.iter().map(|record| record.entry.message.clone());
            assert!(found.eq(newest.map(|number| number.to_string())));
            (pruned.records, pruned.has_more, records.len())
        };
        assert_eq!(step(10_000, 10_000), (0, false, 1500));
        assert_eq!(step(1400, 10_000), (100, false, 1400));
        assert_eq!(step(10_000, 1200), (200, false, 1200));
        assert_eq!(step(100, 10_000), (1000, true, 200));
        assert_eq!(step(100, 10_000), (100, false, 100));
        assert_eq!(step(100, 0), (100, false, 0));
        assert_eq!(step(0, 0), (0, false, 0));
    });
}

#[test]
fn a_log_deletes_while_records_are_appended() {
    on_every_engine(|fixture| {
        for mode in [AuditMode::Relaxed, AuditMode::Strict] {
            let (one, two) = (fixture.log(), fixture.log());
            let settings = AuditSettings {
                mode,
                records_max: 100,
                ..AuditSettings::default()
            };
            one.set_settings(settings).expect("stored");
            for number in 0..3000 {
                append(if number % 2 == 0 { &one } else { &two }, edit("ada", ""));
                if number % 100 == 0 {
                    one.flush().expect("flushed");
                    two.flush().expect("flushed");
                }
            }
            let end = Instant::now() + Duration::from_secs(60);
            while count(&fixture) > 100 {
                assert!(Instant::now() < end, "{} records", count(&fixture));
                std::thread::sleep(Duration::from_millis(20));
            }
            drop((one, two));
            assert_eq!(count(&fixture), fixture.records().len() as u64);
        }
    });
}

/// A driver whose next snapshot was taken when this value was created.
struct EarlierSnapshot {
    inner: Arc<dyn Driver>,
    snapshot: Mutex<Option<Box<dyn Snapshot + Send>>>,
}

impl EarlierSnapshot {
    fn take(inner: &Arc<dyn Driver>) -> Self {
        Self {
            inner: Arc::clone(inner),
            snapshot: Mutex::new(Some(inner.snapshot().expect("a snapshot"))),
        }
    }
}

impl Driver for EarlierSnapshot {
    forward_driver!(name, capability, commit, write, watch, usage, check, flush => self.inner);

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        let earlier = self.snapshot.lock().take();
        earlier.map_or_else(|| self.inner.snapshot(), Ok)
    }
}

#[test]
fn interleaved_steps_with_different_first_records_do_not_subtract_records_twice() {
    on_every_engine(|fixture| {
        let log = fixture.log_in_mode(AuditMode::Strict);
        fixture.clock.advance_ms(1000);
        for number in 0..10 {
            append(&log, edit("ada", &number.to_string()));
        }
        let one = EarlierSnapshot::take(&fixture.driver);
        // Another process appends a record with an earlier time.
        fixture.clock.set(NOON);
        append(&fixture.log(), edit("ada", "late"));
        let two = EarlierSnapshot::take(&fixture.driver);
        let settings = AuditSettings {
            records_max: 4,
            ..AuditSettings::default()
        };
        let step = |driver| {
            let pruned = prune_step(driver, &settings, NOON).expect("a step");
            let stored = fixture.records().len();
            assert_eq!(count(&fixture), stored as u64);
            (pruned.records, stored)
        };
        assert_eq!(step(&one), (6, 5));
        assert_eq!(step(&two), (0, 5));
        assert_eq!(step(&two), (1, 4));
        assert_eq!(step(&two), (0, 4));
    });
}
