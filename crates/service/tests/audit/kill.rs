//! SIGKILL while records are appended: in strict mode every acknowledged record is stored, in relaxed mode all
//! but those of the last moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_service::audit::{
    AUDIT_DELAY_MAX, AuditCriteria, AuditFollower, AuditLog, AuditMode, AuditQuery, AuditSettings,
    FollowStart, stored_records,
};
use espalier_store::SystemClock;
use espalier_testkit::process::{Part, argument, say};

use crate::fixture::{all, append, edit};

/// Appends until it is killed: `URL`.
#[test]
fn part_that_appends() {
    let Some(url) = argument() else { return };
    let driver = espalier_drivers::open(&url).expect(&url);
    let log = AuditLog::open(driver, Arc::new(SystemClock)).expect("a log");
    let settings = AuditSettings {
        mode: AuditMode::Strict,
        ..AuditSettings::default()
    };
    log.set_settings(settings).expect("stored");
    for number in 0_u64.. {
        let sequence = append(&log, edit("ada", &number.to_string()));
        say(&sequence.to_string());
    }
}

fn kill_while_appending(engine: &str, processes: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let url = engine.replace("{dir}", dir.path().to_str().expect("a plain path"));
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let mut parts: Vec<_> = (0..processes)
            .map(|_| Part::start("kill::part_that_appends", &url))
            .collect();
        for part in &mut parts {
            for _ in 0..20 + 15 * round {
                acknowledged.push(part.line().expect("it lives"));
            }
        }
        for part in &mut parts {
            part.kill();
            while let Some(line) = part.line() {
                acknowledged.push(line);
            }
        }
        drop(parts);
        let driver = espalier_drivers::open(&url).expect(&url);
        let records = all(&*driver, AuditQuery::default());
        let mut stored: Vec<_> = records
            .iter()
            .map(|record| record.sequence.to_string())
            .collect();
        let snapshot = driver.snapshot().expect("a snapshot");
        assert_eq!(
            stored_records(&*snapshot).expect("a count"),
            stored.len() as u64
        );
        stored.sort();
        for sequence in &acknowledged {
            assert!(
                stored.binary_search(sequence).is_ok(),
                "{engine}: {sequence} is lost"
            );
        }
        let under_way = (round + 1) * processes;
        assert!(stored.len() <= acknowledged.len() + under_way);
    }
}

#[test]
fn acknowledged_records_survive_a_kill_on_lmdb() {
    kill_while_appending("embedded:{dir}/audit?durability=relaxed", 2);
    kill_while_appending("embedded:{dir}/audit", 1);
}

#[test]
fn acknowledged_records_survive_a_kill_on_sqlite() {
    kill_while_appending("sqlite:{dir}/audit?durability=relaxed", 2);
}

#[test]
fn acknowledged_records_survive_a_kill_in_files() {
    kill_while_appending("file:{dir}/audit?durability=relaxed", 1);
}

#[test]
fn a_follower_returns_the_records_of_another_process_once() {
    for engine in [
        "embedded:{dir}/audit",
        "sqlite:{dir}/audit?durability=relaxed",
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let url = engine.replace("{dir}", dir.path().to_str().expect("a plain path"));
        let driver = espalier_drivers::open(&url).expect(&url);
        let start = FollowStart::Now;
        let mut follower =
            AuditFollower::new(driver, start, AuditCriteria::default()).expect("a follower");
        let mut part = Part::start("kill::part_that_appends", &url);
        let mut followed = Vec::new();
        let mut acknowledged = Vec::new();
        for _ in 0..50 {
            acknowledged.push(part.line().expect("it lives"));
            let record = follower.next(Duration::from_millis(5)).expect("followed");
            followed.extend(record.map(|record| record.sequence.to_string()));
        }
        part.kill();
        acknowledged.extend(std::iter::from_fn(|| part.line()));
        let end = Instant::now() + Duration::from_secs(30);
        while followed.len() < acknowledged.len() {
            assert!(Instant::now() < end, "{engine}: {} records", followed.len());
            let record = follower.next(Duration::from_millis(50)).expect("followed");
            followed.extend(record.map(|record| record.sequence.to_string()));
        }
        assert_eq!(followed[..acknowledged.len()], acknowledged, "{engine}");
        // The last record may have been committed without an acknowledgement.
        let last = follower.next(Duration::from_millis(200)).expect("followed");
        assert!(
            last.is_none() || followed.len() == acknowledged.len(),
            "{engine}"
        );
    }
}

/// The time that a commit may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(3);

/// Appends in relaxed mode until it is killed: `URL`. Sends the milliseconds since its start.
#[test]
fn part_that_appends_relaxed() {
    let Some(url) = argument() else { return };
    let driver = espalier_drivers::open(&url).expect(&url);
    let log = AuditLog::open(driver, Arc::new(SystemClock)).expect("a log");
    let begun = Instant::now();
    for number in 0_u64.. {
        append(&log, edit("ada", &number.to_string()));
        say(&begun.elapsed().as_millis().to_string());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_kill_in_relaxed_mode_loses_only_the_latest_records() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("embedded:{}/audit", dir.path().display());
    let mut part = Part::start("kill::part_that_appends_relaxed", &url);
    let limit = PATIENCE + AUDIT_DELAY_MAX;
    let mut acknowledged: Vec<u128> = Vec::new();
    let is_long_enough = |last: &u128| *last > 2 * limit.as_millis();
    while !acknowledged.last().is_some_and(is_long_enough) {
        let line = part.line().expect("it lives");
        acknowledged.push(line.parse().expect("milliseconds"));
    }
    part.kill();
    while let Some(line) = part.line() {
        acknowledged.push(line.parse().expect("milliseconds"));
    }
    drop(part);
    let driver = espalier_drivers::open(&url).expect(&url);
    let records = all(&*driver, AuditQuery::default());
    let numbers = records.iter().map(|record| record.entry.message.clone());
    assert!(
        numbers.eq((0..records.len()).map(|number| number.to_string())),
        "a gap"
    );
    let last = acknowledged.last().expect("records");
    let lost = acknowledged
        .get(records.len())
        .map_or(0, |first| last - first);
    assert!(
        lost <= limit.as_millis(),
        "the records of {lost} ms are lost"
    );
}
