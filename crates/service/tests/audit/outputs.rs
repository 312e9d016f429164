//! Export, followers, syslog and files.

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_service::audit::{
    AuditCriteria, AuditFollower, AuditMode, AuditQuery, AuditRecord, AuditSink, FollowStart,
    JsonLinesFile, SINK_CLOSE_MAX, SINK_QUEUE_MAX, Syslog, SyslogAddress, export,
};

use crate::fixture::{Fixture, NOON, append, edit, on_every_engine};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn an_export_has_every_record_as_a_line_of_json() {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    for number in 0..2500 {
        append(&log, edit("ada", &format!("{number}\n")));
    }
    log.close();
    let mut lines = Vec::new();
    let count = export(&*fixture.driver, &AuditQuery::default(), &mut lines).expect("exported");
    let text = String::from_utf8(lines).expect("text");
    let mut records: Vec<AuditRecord> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    records.reverse();
    assert_eq!((count, records), (2500, fixture.records()));
    let fields =
        r#""time":"2025-03-05T12:00:00.000Z","operation":"edit","user":"ada","result":"ok""#;
    assert!(
        text.lines().all(|line| line.contains(fields)),
        "{}",
        &text[..300]
    );
}

fn messages(follower: &mut AuditFollower, count: usize) -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    let mut messages = Vec::new();
    while messages.len() < count {
        assert!(Instant::now() < end, "{messages:?}");
        let record = follower.next(Duration::from_millis(50)).expect("followed");
        messages.extend(record.map(|record| record.entry.message));
    }
    messages
}

#[test]
fn a_follower_returns_each_record_once() {
    on_every_engine(|fixture| {
        let log = fixture.log_in_mode(AuditMode::Strict);
        for message in ["a", "b"] {
            append(&log, edit("ada", message));
        }
        let follow = |start| {
            let criteria = AuditCriteria {
                user: Some("ada".to_owned()),
                ..AuditCriteria::default()
            };
            AuditFollower::new(fixture.driver.clone(), start, criteria).expect("a follower")
        };
        let mut new = follow(FollowStart::Now);
        let mut stored = follow(FollowStart::From(NOON));
        let mut later = follow(FollowStart::After(fixture.records()[0].sequence));
        append(&log, edit("bob", "not selected"));
        for message in ["c", "d"] {
            append(&log, edit("ada", message));
        }
        assert_eq!(messages(&mut new, 2), ["c", "d"]);
        assert_eq!(messages(&mut stored, 4), ["a", "b", "c", "d"]);
        assert_eq!(messages(&mut later, 3), ["b", "c", "d"]);
        for follower in [&mut new, &mut stored, &mut later] {
            let next = follower.next(Duration::from_millis(50)).expect("followed");
            assert_eq!(next, None);
        }
    });
}

#[test]
fn records_are_sent_to_syslog_sockets() {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    let path = fixture.dir.path().join("log");
    let unix = UnixDatagram::bind(&path).expect("a socket");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    unix.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    udp.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let address = format!("udp:{}", udp.local_addr().expect("an address"));
    for address in [format!("unix:{}", path.display()), address] {
        let address: SyslogAddress = address.parse().expect("an address");
        log.add_sink(Arc::new(
            AuditSink::new(Syslog::new(address)).expect("a sink"),
        ));
    }
    append(&log, edit("ada", "done"));
    let mut messages = [[0; 8192]; 2];
    let lengths = [unix.recv(&mut messages[0]), udp.recv(&mut messages[1])];
    for (message, length) in messages.iter().zip(lengths) {
        let line = String::from_utf8_lossy(&message[..length.expect("a message")]);
        assert!(
            line.starts_with("<110>1 2025-03-05T12:00:00.000Z "),
            "{line}"
        );
        assert!(line.contains(" edit [espalier@32473 sequence=\""), "{line}");
        assert!(line.ends_with(r#" result="ok" user="ada"] done"#), "{line}");
    }
}

#[test]
fn addresses_of_syslog() {
    let unix = SyslogAddress::Unix("/dev/log".into());
    assert_eq!("unix:/dev/log".parse(), Ok(unix));
    assert_eq!(
        "udp:[::1]:514".parse(),
        Ok(SyslogAddress::Udp("[::1]:514".to_owned()))
    );
    for invalid in ["", "/dev/log", "unix:", "udp:host", "udp::514", "tcp:h:1"] {
        assert!(invalid.parse::<SyslogAddress>().is_err(), "{invalid}");
    }
}

#[test]
fn a_receiver_that_does_not_read_makes_neither_a_request_nor_the_end_wait() {
    let fixture = Fixture::new("memory:");
    let path = fixture.dir.path().join("log");
    let _full = UnixDatagram::bind(&path).expect("a socket");
    let sink = AuditSink::new(Syslog::new(SyslogAddress::Unix(path))).expect("a sink");
    let record = AuditRecord {
        sequence: Default::default(),
        time: NOON,
        entry: edit("ada", ""),
    };
    let record = Arc::new(record);
    let begun = Instant::now();
    for _ in 0..3 * SINK_QUEUE_MAX {
        sink.offer(&record);
    }
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(sink.dropped() > 0);
    // The queue would take a second for each record.
    let begun = Instant::now();
    sink.close();
    assert!(begun.elapsed() < SINK_CLOSE_MAX + Duration::from_secs(10));
    assert!(sink.dropped() > 2 * SINK_QUEUE_MAX as u64);
}

#[test]
fn a_file_is_private_and_is_created_again_after_a_rotation() {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    let path = fixture.dir.path().join("audit.jsonl");
    let file = JsonLinesFile::open(&path).expect("a file");
    let sink = Arc::new(AuditSink::new(file).expect("a sink"));
    log.add_sink(sink.clone());
    let lines = |path: &std::path::Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().count()
    };
    append(&log, edit("ada", "1"));
    append(&log, edit("ada", "2"));
    let end = Instant::now() + PATIENCE;
    while lines(&path) < 2 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(5));
    }
    let rotated = fixture.dir.path().join("audit.jsonl.1");
    std::fs::rename(&path, &rotated).expect("renamed");
    append(&log, edit("ada", "3"));
    sink.close();
    assert_eq!((lines(&rotated), lines(&path)), (2, 1));
    let mode = std::fs::metadata(&path)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
