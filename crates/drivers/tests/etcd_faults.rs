//! The etcd driver when its servers or its process fail.
#![cfg(feature = "etcd")]

mod opening;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Driver, ErrorKind, KeyRange, WatchEvent};
use espalier_testkit::servers::{Etcd, Signal, free_port};
use espalier_testkit::threads_on_counter::{SumWatch, add_more_while, sum};
use espalier_testkit::{crash, process};

use crate::opening::assert_refused;

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).expect("the servers are there")
}

/// Two leaders are killed and a third one is paused, while threads commit small and staged batches.
#[test]
fn commits_are_applied_exactly_once_when_leaders_are_killed() {
    let Some(etcd) = Etcd::start() else { return };
    let driver = open(&etcd.url("timeout_ms=60000"));
    let mut watch = SumWatch::start(&*driver);
    let more = |thread: u8, number: usize, batch: &mut Batch| {
        let keys = if number % 8 == 7 { 200 } else { 1 };
        (0..keys).for_each(|key: u8| batch.put([thread, key], number.to_be_bytes()));
    };
    add_more_while(&*driver, &more, || {
        for signal in [Signal::Kill, Signal::Terminate] {
            thread::sleep(Duration::from_millis(500));
            etcd.restart(etcd.leader(), signal);
        }
        let paused = &etcd.members()[etcd.leader()];
        paused.signal(Signal::Pause);
        thread::sleep(Duration::from_secs(3));
        paused.signal(Signal::Continue);
        etcd.wait_healthy();
        thread::sleep(Duration::from_millis(500));
    });
    watch.assert_all_told(&*driver);
}

#[test]
fn child_that_is_killed() {
    if let Some(url) = process::argument() {
        crash::part(open(&url));
    }
}

#[test]
fn a_killed_process_leaves_complete_batches() {
    let Some(etcd) = Etcd::shared() else { return };
    let url = etcd.url("");
    crash::run("child_that_is_killed", &url, &|| open(&url));
}

#[test]
fn the_error_names_unreachable_servers() {
    let port = free_port();
    let url = format!("etcd://127.0.0.1:{port}/?timeout_ms=200");
    let error = espalier_drivers::open(&url).err().expect("an error");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let cause = "tcp connect error: Connection refused (os error 111)";
    let servers = format!("etcd at 127.0.0.1:{port}, or it has no majority");
    assert_eq!(
        error.to_string(),
        format!("cannot reach {servers}: {cause}")
    );
}

#[test]
fn two_drivers_follow_each_other() {
    let Some(etcd) = Etcd::shared() else { return };
    let url = etcd.url("");
    let (one, two) = (open(&url), open(&url));
    let start = one.snapshot().expect("a snapshot").version();
    let mut watch = two.watch(KeyRange::all(), start).expect("a watch");
    let mut batch = Batch::new();
    batch.put("key", "value");
    let version = one.commit(batch).expect("a commit").version;
    let event = watch.next(Duration::from_secs(20)).expect("a watch");
    assert!(matches!(event, Some(WatchEvent::Commit { version: it, .. }) if it == version));
    let snapshot = two.snapshot().expect("a snapshot");
    assert_eq!(snapshot.version(), version);
    assert_eq!(
        snapshot.get(b"key").expect("a get").as_deref(),
        Some(&b"value"[..])
    );
}

#[test]
fn key_spaces_do_not_overlap() {
    let Some(etcd) = Etcd::shared() else { return };
    let url = etcd.url("");
    let prefix_url = url.trim_end_matches('?');
    let open_at = |end: &str| espalier_drivers::open(&format!("{prefix_url}{end}"));
    let mut batch = Batch::new();
    batch.put("key", "value");
    open(&url).commit(batch).expect("committed");
    assert_refused(open_at("/dev"), ErrorKind::WrongVersion, "within another");
    drop(open(&format!("{prefix_url}-b/dev")));
    assert_refused(open_at("-b"), ErrorKind::WrongVersion, "other keys");
    let same = open_at("/").expect("a trailing slash is ignored");
    let snapshot = same.snapshot().expect("a snapshot");
    assert_eq!(
        snapshot.get(b"key").expect("a get").as_deref(),
        Some(&b"value"[..])
    );
}

#[test]
fn a_later_format_is_refused_and_left_alone() {
    let Some(etcd) = Etcd::shared() else { return };
    let url = etcd.url("");
    let (_, prefix) = url.rsplit_once('/').expect("a prefix");
    let format = format!("{}/f", prefix.trim_end_matches('?'));
    drop(open(&url));
    etcd.control(&["put", &format, "9"]);
    assert_refused(
        espalier_drivers::open(&url),
        ErrorKind::WrongVersion,
        "format 9",
    );
    assert!(etcd.control(&["get", &format]).contains('9'));
}

#[test]
fn passwords_are_required_and_checked() {
    let Some(etcd) = Etcd::start_one(&[]) else {
        return;
    };
    let url = etcd.url("timeout_ms=3000");
    let with = |user: &str| url.replace("://", &format!("://{user}@"));
    for arguments in [
        &["user", "add", "root:secret"][..],
        &["user", "add", "guest:p@ss"],
        &["user", "grant-role", "root", "root"],
        &["auth", "enable"],
    ] {
        etcd.control(arguments);
    }
    for wrong in [&url, &with("root:wrong"), &with("nobody:secret")] {
        assert_refused(espalier_drivers::open(wrong), ErrorKind::Denied, "user");
    }
    let guest = with("guest:p%40ss");
    assert_refused(espalier_drivers::open(&guest), ErrorKind::Denied, "prefix");
    assert_eq!(open(&with("root:secret")).usage().expect("usage").keys, 0);
}

/// The quota is exhausted: a failed commit has no effect, and existing data can be read. A staged commit whose gate was
/// written is applied when there is space.
#[test]
fn a_full_quota_changes_nothing() {
    let Some(etcd) = Etcd::start_one(&["--quota-backend-bytes=20000000"]) else {
        return;
    };
    let driver = open(&etcd.url("timeout_ms=5000"));
    let put = |number: i64, count: u8| {
        let mut batch = Batch::new();
        batch.add("sum", 1);
        (0..count).for_each(|part| {
            batch.put(
                [&number.to_be_bytes()[..], &[part]].concat(),
                vec![7; 200_000],
            );
        });
        driver.commit(batch)
    };
    let mut keys = 1;
    let error = (0..500).find_map(|number| {
        // Every third batch is staged.
        let count = if number % 3 == 2 { 8 } else { 1 };
        let error = put(number, count).err();
        keys += if error.is_none() { u64::from(count) } else { 0 };
        error
    });
    let error = error.expect("it is full");
    let expected = [ErrorKind::Full, ErrorKind::OutcomeUnknown];
    assert!(expected.contains(&error.kind()), "{error}");
    assert!(error.to_string().contains("quota"), "{error}");
    let committed = sum(&*driver);
    for count in [1, 8] {
        let refused = put(999, count);
        assert_refused(refused, ErrorKind::Full, "quota");
    }
    assert_eq!(driver.usage().expect("usage").keys, keys);
    assert_eq!(driver.check().expect("a check"), []);
    assert_eq!(sum(&*driver), committed);
}
