//! SIGKILL during writes: sums are exactly those of the acknowledged writes, except for the one write in
//! progress, and a buffer loses no more than its limits allow.

mod fixture;

use std::sync::Arc;
use std::time::{Duration, Instant};

use espalier_stats::{Buffer, Limits, Number, PathValues, Range, Stats, Timestamp, Write};
use espalier_testkit::process::{Part, argument, say};
use fixture::{Fixture, packed, path, time};

const NOON: &str = "2025-03-05T12:00:30Z";

/// The maximum time that writes stay in the buffer of the part.
const BUFFERED: Duration = Duration::from_millis(200);

/// The time that a commit may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(6);

/// Writes until it is killed: `URL direct` or `URL buffered`.
#[test]
fn part_that_writes() {
    let Some(argument) = argument() else { return };
    let (url, how) = argument.rsplit_once(' ').expect("two words");
    let driver = espalier_drivers::open(url).expect(url);
    let clock = Arc::new(fixture::TestClock::default());
    let stats = Arc::new(Stats::open(driver, fixture::PREFIX, clock).expect(url));
    let (at, one) = (time(NOON), || packed(r#"{"a":1,"b":{"c":1}}"#));
    let begun = Instant::now();
    let limits = Limits {
        interval: BUFFERED,
        ..Limits::default()
    };
    let buffer = Buffer::new(Arc::clone(&stats), limits).expect("a buffer");
    for _ in 0_u64.. {
        if how == "direct" {
            stats.track("n", at, one()).expect("tracked");
        } else {
            buffer.submit(Write::track("n", at, one())).expect("taken");
            std::thread::sleep(Duration::from_millis(1));
        }
        say(&begun.elapsed().as_millis().to_string());
    }
}

/// The sums of each granularity and each value, which must be equal.
fn sum(stats: &Stats) -> u64 {
    let mut found = Vec::new();
    for granularity in stats.settings().granularities {
        let at: Timestamp = time(NOON);
        let points = stats
            .values("n", Range::new(granularity, at, at))
            .expect("read");
        let values: &PathValues = &points[0].values;
        for name in ["a", "b.c"] {
            let value = values.get(&path(name)).unwrap_or(Number::ZERO);
            found.push(value.to_f64() as u64);
        }
    }
    assert!(found.iter().all(|sum| *sum == found[0]), "{found:?}");
    found[0]
}

fn kill_writers(engine: &str) {
    let mut fixture = Fixture::new(engine);
    let (mut acknowledged, mut under_way) = (0, 0);
    let writers = if engine.starts_with("file:") { 1 } else { 2 };
    let url = fixture.closed_url();
    for round in 0..5 {
        let mut parts: Vec<_> = (0..writers)
            .map(|_| Part::start("part_that_writes", &format!("{url} direct")))
            .collect();
        for part in &mut parts {
            for _ in 0..40 + 10 * round {
                part.line().expect("it lives");
                acknowledged += 1;
            }
        }
        for part in &mut parts {
            part.kill();
            while part.line().is_some() {
                acknowledged += 1;
            }
            under_way += 1;
        }
        drop(parts);
        let driver = espalier_drivers::open(&url).expect(&url);
        let stats = Stats::open(driver, fixture::PREFIX, fixture.clock.clone()).expect("open");
        let sum = sum(&stats);
        assert!(
            (acknowledged..=acknowledged + under_way).contains(&sum),
            "{engine} round {round}: {sum}, {acknowledged} were acknowledged"
        );
    }
}

#[test]
fn sums_match_the_acknowledged_writes_on_lmdb() {
    kill_writers("embedded:{dir}/stats?durability=relaxed");
}

#[test]
fn sums_match_the_acknowledged_writes_on_sqlite() {
    kill_writers("sqlite:{dir}/stats?durability=relaxed");
}

#[test]
fn sums_match_the_acknowledged_writes_in_files() {
    kill_writers("file:{dir}/stats?durability=relaxed");
}

#[test]
fn a_buffer_loses_no_more_than_its_interval() {
    let mut fixture = Fixture::new("embedded:{dir}/stats?durability=relaxed");
    let url = fixture.closed_url();
    let mut part = Part::start("part_that_writes", &format!("{url} buffered"));
    let mut acknowledged: Vec<u64> = Vec::new();
    let long_enough = (PATIENCE + 5 * BUFFERED).as_millis() as u64;
    while acknowledged.last().is_none_or(|last| *last < long_enough) {
        let line = part.line().expect("it lives");
        acknowledged.push(line.parse().expect("a number"));
    }
    part.kill();
    while let Some(line) = part.line() {
        acknowledged.push(line.parse().expect("a number"));
    }
    drop(part);
    let driver = espalier_drivers::open(&url).expect(&url);
    let stats = Stats::open(driver, fixture::PREFIX, fixture.clock.clone()).expect("open");
    let sum = sum(&stats);
    let window = (BUFFERED + PATIENCE).as_millis() as u64;
    let last = *acknowledged.last().expect("it wrote");
    let safe = acknowledged
        .iter()
        .filter(|at| **at + window < last)
        .count() as u64;
    assert!(
        (safe..=acknowledged.len() as u64 + 1).contains(&sum),
        "{sum} of {} are there, {safe} have to be",
        acknowledged.len()
    );
    assert!(safe > 0 && sum > 0, "{safe} {sum}");
}
