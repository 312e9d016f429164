//! Old records are deleted by count and by age, in bounded steps.

use std::time::{Duration, Instant};

use espalier_service::audit::{
    AuditMode, AuditSettings, PRUNE_STEP_MAX, prune_step, stored_records,
};
use espalier_store::Clock;

use crate::fixture::{Fixture, append, edit, on_every_engine};

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
