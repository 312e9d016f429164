//! A failing engine: requests go on in relaxed mode and fail in strict mode; nothing is counted twice.

use std::sync::Arc;

use espalier_keyspace::ErrorKind;
use espalier_service::audit::{
    Appended, AuditError, AuditLog, AuditMode, AuditQuery, QUEUE_RECORDS_MAX, stored_records,
};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};

use crate::fixture::{Fixture, append, edit};

fn faulty(fixture: &Fixture, mode: AuditMode) -> (Arc<Faulty>, AuditLog) {
    drop(fixture.log_in_mode(mode));
    let faulty = Arc::new(Faulty::new(fixture.driver.clone()));
    let log = AuditLog::open(faulty.clone(), fixture.clock.clone()).expect("a log");
    (faulty, log)
}

fn arm(faulty: &Faulty, site: Site, lasting: Lasting, kind: ErrorKind) {
    faulty.arm(Fault {
        sites: vec![site],
        after: 0,
        lasting,
        kind,
    });
}

fn count(fixture: &Fixture) -> u64 {
    stored_records(&*fixture.driver.snapshot().expect("a snapshot")).expect("a count")
}

#[test]
fn relaxed_records_wait_for_the_engine() {
    let fixture = Fixture::new("memory:");
    let (faulty, log) = faulty(&fixture, AuditMode::Relaxed);
    arm(
        &faulty,
        Site::Commit,
        Lasting::ForEver,
        ErrorKind::Unavailable,
    );
    append(&log, edit("ada", "1"));
    assert!(matches!(log.flush(), Err(AuditError::NotStored(_))));
    append(&log, edit("ada", "2"));
    assert!(log.query(&AuditQuery::default()).is_err());
    faulty.disarm();
    log.flush().expect("flushed");
    assert_eq!(
        (fixture.records().len(), count(&fixture), log.lost()),
        (2, 2, 0)
    );
}

#[test]
fn a_full_queue_loses_records_without_waiting_while_the_engine_fails() {
    let fixture = Fixture::new("memory:");
    let (faulty, log) = faulty(&fixture, AuditMode::Relaxed);
    arm(
        &faulty,
        Site::Commit,
        Lasting::ForEver,
        ErrorKind::Unavailable,
    );
    append(&log, edit("ada", ""));
    log.flush().expect_err("a fault");
    for _ in 1..QUEUE_RECORDS_MAX {
        append(&log, edit("ada", ""));
    }
    for _ in 0..10 {
        let appended = log.append(edit("ada", "")).expect("the request goes on");
        assert_eq!(appended, Appended::Lost);
    }
    assert_eq!(log.lost(), 10);
    log.close();
    assert_eq!(log.lost(), 10 + QUEUE_RECORDS_MAX as u64);
    assert_eq!(count(&fixture), 0);
}

#[test]
fn strict_records_fail_with_the_engine() {
    let fixture = Fixture::new("memory:");
    let (faulty, log) = faulty(&fixture, AuditMode::Strict);
    arm(&faulty, Site::Commit, Lasting::ForEver, ErrorKind::Full);
    assert!(matches!(
        log.append(edit("ada", "1")),
        Err(AuditError::NotStored(_))
    ));
    arm(&faulty, Site::Commit, Lasting::Once, ErrorKind::Unavailable);
    append(&log, edit("ada", "2"));
    assert_eq!(
        (fixture.records().len(), count(&fixture), log.lost()),
        (1, 1, 1)
    );
}

#[test]
fn a_commit_with_an_unknown_outcome_is_not_counted_twice() {
    for mode in [AuditMode::Relaxed, AuditMode::Strict] {
        for (site, stored) in [
            (Site::AfterCommit, "applied"),
            (Site::Commit, "not applied"),
        ] {
            let fixture = Fixture::new("memory:");
            let (faulty, log) = faulty(&fixture, mode);
            arm(&faulty, site, Lasting::Once, ErrorKind::OutcomeUnknown);
            append(&log, edit("ada", "1"));
            if mode == AuditMode::Relaxed {
                log.flush().expect_err("the fault");
            }
            append(&log, edit("ada", "2"));
            log.close();
            let found = (fixture.records().len(), count(&fixture), log.lost());
            assert_eq!(found, (2, 2, 0), "{mode:?}, {stored}");
        }
    }
}
