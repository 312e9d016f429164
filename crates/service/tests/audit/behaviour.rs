//! Records are stored as they were filled in, and are there after closing.

use espalier_service::audit::{
    Appended, AuditCheck, AuditEntry, AuditError, AuditFilter, AuditKind, AuditMode,
    AuditOperation, AuditQuery, AuditResult, AuditSettings, AuditTarget, check,
};

use espalier_keyspace::{Batch, Direction, KeyRange};
use espalier_store::{Clock, Subspace};

use crate::fixture::{Fixture, NOON, all, append, edit, on_every_engine};

#[test]
fn a_record_has_what_the_caller_filled_in() {
    on_every_engine(|fixture| {
        for mode in [AuditMode::Relaxed, AuditMode::Strict] {
            let log = fixture.log_in_mode(mode);
            fixture.clock.advance_ms(1);
            let entry = AuditEntry {
                session: Some("7".to_owned()),
                user: Some("ada".to_owned()),
                transport: Some("restconf".to_owned()),
                peer: Some("192.0.2.1:5000".to_owned()),
                target: Some(AuditTarget::Datastore {
                    dataspace: "default".to_owned(),
                    anchor: "main".to_owned(),
                    datastore: "running".to_owned(),
                }),
                paths: vec!["/m:list[name='x']".to_owned()],
                version: Some(12),
                result: AuditResult::Error("data-exists".to_owned()),
                ..edit("ada", "the entry exists")
            };
            let sequence = append(&log, entry.clone());
            let page = log.query(&AuditQuery::default()).expect("a page");
            assert_eq!(page.records[0].sequence, sequence);
            assert_eq!(page.records[0].time, fixture.clock.now());
            assert_eq!(page.next, None);
            assert_eq!(page.records[0].entry, entry);
        }
    });
}

#[test]
fn closing_commits_what_is_pending_and_ends_the_log() {
    on_every_engine(|fixture| {
        let log = fixture.log();
        for number in 0..2500 {
            append(&log, edit("ada", &number.to_string()));
        }
        log.close();
        let records = fixture.records();
        let messages = records.iter().map(|record| record.entry.message.as_str());
        assert!(messages.eq((0..2500).map(|number| number.to_string())));
        assert!(matches!(
            log.append(edit("ada", "")),
            Err(AuditError::Closed)
        ));
        drop(log);
        let log = fixture.log();
        append(&log, edit("ada", "dropped"));
        drop(log);
        assert_eq!(fixture.records().len(), 2501);
    });
}

#[test]
fn relaxed_records_are_stored_without_a_flush() {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    append(&log, edit("ada", ""));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while fixture.records().is_empty() {
        assert!(std::time::Instant::now() < end);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_clock_that_is_set_back_a_little_does_not_change_the_order() {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    let mut sequences = Vec::new();
    for step in [0, 1, 0] {
        fixture.clock.set(NOON);
        fixture.clock.advance_ms(step * 1000);
        sequences.push(append(&log, edit("ada", "")));
    }
    assert!(sequences.is_sorted());
    fixture
        .clock
        .set(espalier_store::Timestamp(NOON.0 - 3_600_000));
    assert!(
        append(&log, edit("ada", "")) < sequences[0],
        "an hour follows the clock"
    );
}

#[test]
fn the_settings_decide_what_is_recorded() {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    assert!(log.is_recorded(AuditKind::Writes) && !log.is_recorded(AuditKind::Reads));
    let read = AuditEntry::new(AuditOperation::Read);
    let denied_read = AuditEntry {
        result: AuditResult::Error("access-denied".to_owned()),
        ..read.clone()
    };
    let is_recorded =
        |entry: &AuditEntry| log.append(entry.clone()).expect("appended") != Appended::Excluded;
    assert!(!is_recorded(&read) && is_recorded(&denied_read));
    let set = |mode, filter| {
        let settings = AuditSettings {
            mode,
            filter,
            ..AuditSettings::default()
        };
        log.set_settings(settings).expect("stored");
    };
    let reads = AuditFilter {
        reads: true,
        writes: false,
        ..AuditFilter::default()
    };
    set(AuditMode::Relaxed, reads);
    assert!(is_recorded(&read) && !is_recorded(&edit("ada", "")));
    set(AuditMode::Off, reads);
    assert!(!is_recorded(&read) && !is_recorded(&denied_read));
}

#[test]
fn every_log_of_a_store_follows_the_settings() {
    let fixture = Fixture::new("memory:");
    let (one, two) = (fixture.log(), fixture.log());
    let settings = AuditSettings {
        mode: AuditMode::Strict,
        records_max: 17,
        ..AuditSettings::default()
    };
    one.set_settings(settings.clone()).expect("stored");
    assert_eq!(*fixture.log().settings(), settings);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while *two.settings() != settings {
        assert!(std::time::Instant::now() < end);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn pages_are_bounded_in_what_they_return_and_read() {
    use espalier_service::audit::{AUDIT_PAGE_MAX, AUDIT_SCAN_MAX, AuditCriteria};
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    append(&log, edit("rare", ""));
    for _ in 0..AUDIT_SCAN_MAX + 10 {
        append(&log, edit("ada", ""));
    }
    let page = log.query(&AuditQuery::default()).expect("a page");
    assert_eq!(
        (page.records.len(), page.scanned),
        (AUDIT_PAGE_MAX, AUDIT_PAGE_MAX)
    );
    let rare = AuditQuery {
        criteria: AuditCriteria {
            user: Some("rare".to_owned()),
            ..AuditCriteria::default()
        },
        ..AuditQuery::default()
    };
    let page = log.query(&rare).expect("a page");
    assert_eq!((page.records.len(), page.scanned), (0, AUDIT_SCAN_MAX));
    assert!(page.next.is_some());
    assert_eq!(all(&*fixture.driver, rare).len(), 1);
}

#[test]
fn rows_that_cannot_be_read_do_not_hide_the_others() {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    append(&log, edit("ada", "before"));
    log.flush().expect("flushed");
    let mut batch = Batch::new();
    for (number, value) in [
        "",
        "\u{ff}",
        r#"{"format":1}"#,
        r#"{"format":2,"operation":"edit","result":"ok"}"#,
        r#"{"format":1,"operation":"teleport","result":"ok","later":1}"#,
    ]
    .into_iter()
    .enumerate()
    {
        let numbers = [NOON.0, u64::MAX, number as u64].map(u64::to_be_bytes);
        batch.put(
            [b"\x40\x02".as_slice(), numbers.as_flattened()].concat(),
            value,
        );
    }
    batch.put(b"\x40\x02short".as_slice(), "");
    fixture.driver.commit(batch).expect("committed");
    fixture.clock.advance_ms(1);
    append(&log, edit("ada", "after"));
    let page = log.query(&AuditQuery::default()).expect("a page");
    assert_eq!((page.unreadable, page.scanned), (5, 8));
    let operations = page.records.iter().map(|record| record.entry.operation);
    let expected = [
        AuditOperation::Edit,
        AuditOperation::Other,
        AuditOperation::Edit,
    ];
    assert!(operations.eq(expected));
}

#[test]
fn a_check_finds_unreadable_records_and_a_wrong_counter() {
    on_every_engine(|fixture| {
        let log = fixture.log();
        for number in 0..3 {
            append(&log, edit("ada", &number.to_string()));
        }
        log.close();
        let checked = || check(&*fixture.driver.snapshot().expect("a snapshot")).expect("a check");
        let sound = AuditCheck {
            records: 3,
            problems: Vec::new(),
        };
        assert_eq!(checked(), sound);
        let range = KeyRange::prefix(&[&Subspace::Service.key()[..], &[0x02]].concat());
        let snapshot = fixture.driver.snapshot().expect("a snapshot");
        let mut cursor = snapshot.scan(&range, Direction::Forward).expect("a cursor");
        let (first, _) = cursor.next().expect("a row").expect("a record");
        let first = first.to_vec();
        drop(cursor);
        let (second, mut batch) = ([&first[..], &[0]].concat(), Batch::new());
        batch.put(first, b"{".to_vec());
        batch.put(second, b"{}".to_vec());
        fixture.driver.commit(batch).expect("committed");
        let found = checked();
        assert_eq!(found.records, 4);
        assert_eq!(found.problems.len(), 3, "{found:?}");
        assert!(found.problems[2].contains("the counter is 3"), "{found:?}");
    });
}
