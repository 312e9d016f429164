//! Measures the chosen layout against the alternative. Run with `--ignored --nocapture`.

mod fixture;

use std::time::Instant;

use espalier_keyspace::{Batch, Direction, KeyRange};
use espalier_stats::{Number, Path, PathValues, Range, Request, SystemMetric, Timestamp, Write};
use fixture::{Fixture, time};

const CALLS: u32 = 500;

#[test]
#[ignore = "measures, checks nothing"]
fn a_row_for_a_bucket_against_a_counter_for_a_value() {
    for engine in [
        "memory:",
        "embedded:{dir}/a?durability=relaxed",
        "embedded:{dir}/a",
        "sqlite:{dir}/a?durability=relaxed",
        "sqlite:{dir}/a",
    ] {
        for count in [1, 5, 23] {
            let fixture = Fixture::new(engine);
            let stats = fixture.stats_with(|settings| settings.system = SystemMetric::Off);
            let values = named(count);
            let at = time("2025-03-05T12:00:30Z");
            let begin = Instant::now();
            for _ in 0..CALLS {
                stats
                    .track("perf_track", at, values.clone())
                    .expect("tracked");
            }
            let rows = begin.elapsed() / CALLS;
            let fixture = Fixture::new(engine);
            let driver = fixture.driver();
            let begin = Instant::now();
            for _ in 0..CALLS {
                let mut batch = Batch::new();
                for granularity in 0..7_u8 {
                    for (path, _) in &values {
                        let mut key =
                            b"\x20\x01\x02perf_track\0\x03\0\x01\x15\x01\x18\x01\x02\x03".to_vec();
                        key.push(granularity);
                        key.extend_from_slice(path.as_str().as_bytes());
                        batch.add(key, 1);
                    }
                }
                driver.commit(batch).expect("added");
            }
            let counters = begin.elapsed() / CALLS;
            println!("{engine:45} {count:2} values: rows {rows:?}, counters {counters:?}");
        }
    }
}

const BUCKETS: i64 = 10_000;

fn at(minute: i64) -> Timestamp {
    let from = time("2025-03-05T12:00:00Z").as_second();
    Timestamp::from_second(from + 60 * minute).expect("a time")
}

fn range(from: i64, to: i64) -> Range {
    Range::new("1m".parse().expect("a granularity"), at(from), at(to))
}

fn measured(name: &str, work: impl FnOnce()) {
    let begin = Instant::now();
    work();
    println!("  {name}: {:?}", begin.elapsed());
}

#[test]
#[ignore = "measures, checks nothing"]
fn a_scan_against_bucket_by_bucket() {
    for engine in [
        "memory:",
        "embedded:{dir}/a?durability=relaxed",
        "sqlite:{dir}/a?durability=relaxed",
    ] {
        let fixture = Fixture::new(engine);
        let stats = fixture.stats_with(|settings| {
            settings.system = SystemMetric::Off;
            settings.granularities = ["1m".parse().expect("a granularity")].into();
        });
        let values = named(23);
        let writes = (0..BUCKETS).map(|minute| Write::track("n", at(minute), values.clone()));
        stats.submit(Request::new(writes)).expect("written");
        let count = |range| stats.values("n", range).expect("values").len();
        println!("{engine}: {BUCKETS} buckets of 23 values");
        measured("in one reading", || {
            assert_eq!(count(range(0, BUCKETS - 1)), 10_000)
        });
        measured("without blanks", || {
            assert_eq!(count(range(0, BUCKETS - 1).skip_blanks()), 10_000);
        });
        measured("bucket by bucket", || {
            (0..BUCKETS).for_each(|minute| assert_eq!(count(range(minute, minute)), 1));
        });
        measured("the scan below", || {
            let snapshot = fixture.driver().snapshot().expect("a snapshot");
            let mut cursor = snapshot
                .scan(&KeyRange::all(), Direction::Forward)
                .expect("a scan");
            while cursor.next().expect("a row").is_some() {}
        });
    }
}

fn named(count: usize) -> PathValues {
    let path = |value| Path::of(["some", &format!("name{value}")]).expect("a path");
    (0..count).map(|value| (path(value), Number::ONE)).collect()
}
