//! Threads and handles over one engine: nothing is lost, and sessions keep their order.

use std::collections::BTreeMap;
use std::thread;

use espalier_service::audit::{AuditEntry, AuditMode, stored_records};
use espalier_store::SystemClock;

use crate::fixture::{Fixture, append, edit, on_every_engine};

const THREADS: usize = 8;
const RECORDS: usize = 150;

fn append_from_threads(fixture: &Fixture, mode: AuditMode) {
    let first = fixture.log_in_mode(mode);
    let second = fixture.log();
    thread::scope(|scope| {
        for session in 0..THREADS {
            let log = if session % 2 == 0 { &first } else { &second };
            scope.spawn(move || {
                for number in 0..RECORDS {
                    let entry = AuditEntry {
                        session: Some(session.to_string()),
                        ..edit("ada", &number.to_string())
                    };
                    append(log, entry);
                    if number % 40 == 0 {
                        log.flush().expect("flushed");
                    }
                }
            });
        }
    });
    if mode == AuditMode::Relaxed {
        first.close();
        second.close();
    }
    assert_eq!(first.lost() + second.lost(), 0);
}

#[test]
fn threads_on_two_handles_lose_nothing_and_keep_the_order_of_each_session() {
    on_every_engine(|fixture| {
        for (round, mode) in [AuditMode::Relaxed, AuditMode::Strict]
            .into_iter()
            .enumerate()
        {
            append_from_threads(&fixture, mode);
            let records = fixture.records();
            assert_eq!(records.len(), (round + 1) * THREADS * RECORDS);
            let snapshot = fixture.driver.snapshot().expect("a snapshot");
            let count = stored_records(&*snapshot).expect("a count");
            assert_eq!(count, records.len() as u64);
            let mut sessions: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for record in records.into_iter().skip(round * THREADS * RECORDS) {
                let session = record.entry.session.expect("a session");
                let number = record.entry.message.parse().expect("a number");
                sessions.entry(session).or_default().push(number);
            }
            assert_eq!(sessions.len(), THREADS);
            for numbers in sessions.values() {
                assert!(numbers.iter().copied().eq(0..RECORDS));
            }
            fixture.clock.advance_ms(1);
        }
    });
}

#[test]
fn the_order_holds_with_the_clock_of_the_machine() {
    use std::sync::Arc;
    let fixture = Fixture::new("memory:");
    let driver = fixture.driver.clone();
    let log =
        espalier_service::audit::AuditLog::open(driver, Arc::new(SystemClock)).expect("a log");
    let sequences: Vec<_> = (0..5000).map(|_| append(&log, edit("ada", ""))).collect();
    assert!(sequences.is_sorted_by(|one, two| one < two));
}
