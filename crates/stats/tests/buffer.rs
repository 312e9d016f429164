//! The write buffer: order, limits, rejected writes, and failing engines.

mod fixture;

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::ReadOnly;
use espalier_stats::{Buffer, Limits, Range, SYSTEM_METRIC, Stats, Write};
use espalier_testkit::seed;
use fixture::{Fixture, PREFIX, json, on_every_engine, packed, path, time};
use rand::Rng;

const NOON: &str = "2025-03-05T12:00:30Z";

/// Too long for the thread to flush within a test.
const LONG: Duration = Duration::from_secs(3600);

fn track(name: &str, values: &str) -> Write {
    Write::track(name, time(NOON), packed(values))
}

fn noon(stats: &Stats, name: &str) -> String {
    let range = Range::new("1h".parse().expect("a granularity"), time(NOON), time(NOON));
    json(&stats.values(name, range).expect("values")[0].values)
}

fn buffer(stats: &Arc<Stats>, writes: usize, interval: Duration) -> Buffer {
    Buffer::new(Arc::clone(stats), Limits { writes, interval }).expect("a thread")
}

#[test]
fn the_order_within_a_metric_is_kept() {
    on_every_engine(|fixture| {
        let stats = Arc::new(fixture.stats());
        let buffer = buffer(&stats, 1000, LONG);
        buffer
            .submit(track("n", r#"{"a":1.7,"b":1}"#))
            .expect("taken");
        buffer.submit(track("n", r#"{"a":1.7}"#)).expect("taken");
        buffer
            .submit(Write::assert("n", time(NOON), packed(r#"{"a":100}"#)))
            .expect("taken");
        buffer
            .submit(Write::assert("n", time(NOON), packed(r#"{"c":5}"#)))
            .expect("taken");
        buffer.submit(track("n", r#"{"a":1}"#)).expect("taken");
        assert_eq!(noon(&stats, "n"), "{}");
        buffer.flush().expect("flushed");
        assert_eq!(noon(&stats, "n"), r#"{"a":101,"b":1,"c":5}"#);
        assert_eq!(noon(&stats, SYSTEM_METRIC), r#"{"count":5,"keys":{"n":5}}"#);
    });
}

#[test]
fn a_buffered_store_equals_an_unbuffered_one() {
    seed::run("a_buffered_store_equals_an_unbuffered_one", |random| {
        let (left, right) = (Fixture::new("memory:"), Fixture::new("memory:"));
        let (direct, stats) = (left.stats(), Arc::new(right.stats()));
        let buffer = buffer(&stats, 64, Duration::from_millis(1));
        for _ in 0..2000 {
            let name = ["a", "b", "c"][random.random_range(0..3)];
            let values = format!(
                r#"{{"x":{},"y.z":0.{}}}"#,
                random.random_range(-9..9),
                random.random_range(0..99)
            );
            let write = match random.random_range(0..3) {
                0 => Write::assert(name, time(NOON), packed(&values)),
                _ => track(name, &values),
            };
            let write = if random.random_bool(0.1) {
                write.untracked()
            } else {
                write
            };
            direct.submit(write.clone()).expect("done");
            buffer.submit(write).expect("taken");
        }
        drop(buffer);
        for name in ["a", "b", "c", SYSTEM_METRIC] {
            assert_eq!(noon(&stats, name), noon(&direct, name));
        }
    });
}

#[test]
fn a_full_buffer_and_a_long_wait_flush() {
    let fixture = Fixture::new("memory:");
    let stats = Arc::new(fixture.stats());
    let full = buffer(&stats, 16, LONG);
    for second in 0..10 {
        let at = espalier_stats::Timestamp::from_second(time(NOON).as_second() + second)
            .expect("a time");
        full.submit(Write::track("n", at, packed(r#"{"a":1}"#)))
            .expect("taken");
    }
    assert_eq!(noon(&stats, "n"), r#"{"a":9}"#);
    let waiting = buffer(&stats, 1000, Duration::from_millis(1));
    waiting.submit(track("m", r#"{"a":1}"#)).expect("taken");
    let mut tries = 0;
    while noon(&stats, "m") == "{}" {
        tries += 1;
        assert!(tries < 5000, "the thread does not flush");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_invalid_write_is_rejected_alone() {
    let fixture = Fixture::new("memory:");
    let stats = Arc::new(fixture.stats());
    let buffer = buffer(&stats, 1000, LONG);
    let most = r#"{"a":170141183460469231731687303715884105727}"#;
    for values in [most, r#"{"a":1}"#, r#"{"b":1}"#] {
        buffer.submit(track("n", values)).expect("taken");
    }
    buffer.flush().expect("flushed");
    let refused = buffer.refused();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].write.values.get(&path("a")), Some(1.into()));
    assert!(buffer.refused().is_empty());
    assert!(noon(&stats, "n").contains("\"b\":1"));
    assert!(buffer.submit(track("", "{}")).is_err());
}

#[test]
fn failed_writes_stay_in_the_buffer_and_are_bounded() {
    let fixture = Fixture::new("memory:");
    let read_only = Arc::new(ReadOnly::new(fixture.driver()));
    let stats = Arc::new(Stats::open(read_only, PREFIX, fixture.clock.clone()).expect("open"));
    let buffer = buffer(&stats, 32, LONG);
    for second in 0..2 {
        let at = espalier_stats::Timestamp::from_second(second).expect("a time");
        buffer
            .submit(Write::track("n", at, packed(r#"{"a":1}"#)))
            .expect("taken");
    }
    for _ in 0..3 {
        let error = buffer.submit(track("n", r#"{"a":1}"#)).expect_err("full");
        assert!(error.keyspace().is_some(), "{error}");
        assert!(buffer.flush().is_err() && buffer.refused().is_empty());
    }
}
