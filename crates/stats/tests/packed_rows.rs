//! Buckets that share rows: every kind of number in every order of time, with rows of the layout before, compared with
//! a map of buckets.

mod fixture;

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, Driver, KeyRange, tuple};
use espalier_stats::limits::{PACKED_VALUES_MAX, REQUEST_BYTES_MAX, REQUEST_VALUES_MAX};
use espalier_stats::{
    Action, Decimal, ErrorKind, Metric, Number, Path, PathValues, Range, Request, Stats,
    SystemMetric, Timestamp, Write,
};
use espalier_testkit::seed;
use espalier_testkit::servers::steps_on;
use fixture::{Fixture, PREFIX, engines, packed, path};
use rand::Rng;
use rand::rngs::StdRng;

const BEGIN: i64 = 1_735_689_600;

/// The granularities of the store, with the id of their unit in keys and their length.
const GRANULARITIES: [(&str, u8, i64); 2] = [("1m", 2, 60), ("1h", 3, 3600)];

/// Buckets of one metric, by granularity and start.
type Model = BTreeMap<(&'static str, i64), BTreeMap<Path, Number>>;

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn open(fixture: &Fixture) -> Stats {
    fixture.stats_with(|settings| {
        let texts = GRANULARITIES.map(|(text, ..)| text.parse().expect("a granularity"));
        settings.granularities = texts.into();
        settings.system = SystemMetric::Off;
    })
}

/// A number of a kind that a path has: each kind has another code in a column.
fn number(random: &mut StdRng, kind: usize) -> Number {
    let exact = |mantissa: i128, scale| Number::Exact(Decimal::new(mantissa, scale).expect("few"));
    match kind % 7 {
        0 => Number::ONE,
        1 => Number::from(1_000_000 + random.random_range(0..50_i64)),
        2 => exact(random.random_range(-9999..9999), random.random_range(0..4)),
        3 => Number::from(random.random::<i64>()),
        4 => exact(random.random::<i64>().into(), 18),
        5 => Number::Float(f64::from(random.random_range(0..100_u32)) / 7.0),
        _ => match random.random_range(0..3) {
            0 => Number::Float(random.random::<f64>() * 1e300),
            1 => Number::Float(-0.0),
            _ => Number::from(random.random_range(-2..2_i64)),
        },
    }
}

fn values(random: &mut StdRng) -> PathValues {
    let count = match random.random_range(0..60) {
        0 => PACKED_VALUES_MAX + 5,
        1 => random.random_range(0..PACKED_VALUES_MAX),
        _ => random.random_range(0..5),
    };
    // Long names of many paths exceed the limit of a row.
    let names = if random.random_bool(0.05) {
        200
    } else {
        7.max(count)
    };
    let values = (0..count).map(|_| {
        let kind = random.random_range(0..names);
        let name = match kind < 7 {
            true => format!("n{kind}"),
            false => format!("a_rather_long_name_of_a_value_{kind}"),
        };
        (path(&name), number(random, kind))
    });
    values.collect()
}

fn write(random: &mut StdRng, now: &mut i64) -> Write {
    let at = match random.random_range(0..20) {
        0 => BEGIN + random.random_range(-100_000..100_000),
        1..4 => *now - random.random_range(0..10_000),
        _ => {
            *now += random.random_range(0..120);
            *now
        }
    };
    let (metric, at, values) = (Metric::new("n"), second(at), values(random));
    match random.random_range(0..8) {
        0 => Write::assert(metric, at, values),
        1 => Write::adjust(metric, at, values),
        _ => Write::track(metric, at, values),
    }
}

/// Executes a write; returns `false`, and changes nothing, if a sum is out of range.
fn apply(model: &mut Model, write: &Write) -> bool {
    let before = model.clone();
    for (granularity, _, length) in GRANULARITIES {
        let start = write.at.as_second().div_euclid(length) * length;
        for (path, number) in &write.values {
            let bucket = model.get(&(granularity, start));
            let stored = bucket.and_then(|bucket| bucket.get(path)).copied();
            let latest = || {
                let mut earlier = model
                    .range((granularity, i64::MIN)..(granularity, start))
                    .rev();
                earlier.find_map(|(_, bucket)| bucket.get(path).copied())
            };
            let base = match (write.action, stored) {
                (Action::Assert, _) => None,
                (Action::Adjust, None) => latest(),
                (_, stored) => stored,
            };
            let Ok(sum) = base.map_or(Ok(*number), |base| base.plus(*number)) else {
                *model = before;
                return false;
            };
            let bucket = model.entry((granularity, start)).or_default();
            bucket.insert(path.clone(), sum);
        }
    }
    true
}

fn assert_equal(stats: &Stats, model: &Model, random: &mut StdRng) {
    let (granularity, ..) = GRANULARITIES[random.random_range(0..2)];
    let from = BEGIN + random.random_range(-200_000..200_000);
    let to = from + random.random_range(0..400_000);
    let range = Range::new(granularity.parse().expect("one"), second(from), second(to));
    let found = stats.values("n", range.skip_blanks()).expect("values");
    let found = found.iter().map(|point| {
        let values = point
            .values
            .iter()
            .map(|(path, number)| (path.clone(), *number));
        (point.at.as_second(), values.collect::<BTreeMap<_, _>>())
    });
    let length = GRANULARITIES
        .iter()
        .find(|(text, ..)| *text == granularity)
        .expect("one")
        .2;
    let first = from.div_euclid(length) * length;
    let expected = model.range((granularity, first)..=(granularity, to));
    let expected = expected.map(|((_, start), values)| (*start, values.clone()));
    let (found, expected): (Vec<_>, Vec<_>) = (found.collect(), expected.collect());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }
}

fn step(random: &mut StdRng, stats: &Stats, model: &mut Model, now: &mut i64) {
    let count = [1, 1, 3, 60][random.random_range(0..4)];
    let writes: Vec<_> = (0..count).map(|_| write(random, now)).collect();
    let before = model.clone();
    let is_valid = writes.iter().all(|write| apply(model, write));
    let result = stats.submit(Request::new(writes));
    assert_eq!(result.is_ok(), is_valid, "{result:?}");
    if !is_valid {
        *model = before;
    }
    if random.random_bool(0.01) {
        assert!(stats.delete("n").expect("deleted") || model.is_empty());
        model.clear();
    }
    assert_equal(stats, model, random);
}

#[test]
fn shared_rows_equal_a_map_of_buckets() {
    seed::run("shared_rows_equal_a_map_of_buckets", |random| {
        for engine in engines() {
            eprintln!("on {engine}");
            let mut fixture = Fixture::new(engine);
            let mut stats = open(&fixture);
            let (mut model, mut now) = (Model::new(), BEGIN);
            if random.random_bool(0.5) {
                store_old_rows(&fixture.driver(), random, &mut model);
            }
            for _ in 0..steps_on(engine, 300) {
                step(random, &stats, &mut model, &mut now);
                if random.random_bool(0.02) {
                    fixture.restart(&mut stats);
                }
            }
            let findings = Stats::check(&*fixture.driver(), PREFIX, &mut |_| {}).expect("checked");
            assert_eq!(findings, []);
        }
    });
}

/// The key of a bucket in the layout before, and of the buckets that have rows of their own now.
fn old_key(unit: u8, start: i64) -> Vec<u8> {
    let mut key = [PREFIX, &[1]].concat();
    tuple::put_bytes(&mut key, b"n");
    tuple::put_binary(&mut key, b"");
    key.push(unit);
    tuple::put_unsigned(&mut key, 1);
    tuple::put_signed(&mut key, start);
    key
}

/// A row of the layout before: values of one byte each.
fn old_row(values: &BTreeMap<Path, Number>) -> Vec<u8> {
    let mut row = vec![0];
    for (path, number) in values {
        let text = path.as_str();
        row.push(text.len() as u8);
        row.extend_from_slice(text.as_bytes());
        row.extend([0, 2 * number.to_f64() as u8]);
    }
    row
}

/// Stores what earlier versions wrote: each bucket in a row of its own, and the metric.
fn store_old_rows(driver: &Arc<dyn Driver>, random: &mut StdRng, model: &mut Model) {
    let mut batch = Batch::new();
    let mut listed = [PREFIX, &[2]].concat();
    tuple::put_bytes(&mut listed, b"n");
    tuple::put_binary(&mut listed, b"");
    batch.put(listed, b"\x01n");
    for (granularity, unit, length) in GRANULARITIES {
        for _ in 0..200 {
            let at = BEGIN + random.random_range(-50_000..20_000);
            let start = at.div_euclid(length) * length;
            let count = [1, 2, PACKED_VALUES_MAX + 2][random.random_range(0..3)];
            let values = (0..count).map(|value| {
                let number = Number::from(random.random_range(0..60_i64));
                (path(&format!("n{value}")), number)
            });
            let values: BTreeMap<_, _> = values.collect();
            batch.put(old_key(unit, start), old_row(&values));
            model.insert((granularity, start), values);
        }
    }
    driver.commit(batch).expect("stored");
}

fn own_rows(driver: &Arc<dyn Driver>) -> usize {
    let snapshot = driver.snapshot().expect("a snapshot");
    let range = KeyRange::prefix(&[PREFIX, &[1]].concat());
    let mut cursor = snapshot.scan(&range, Direction::Forward).expect("a scan");
    let mut count = 0;
    while cursor.next().expect("a row").is_some() {
        count += 1;
    }
    count
}

#[test]
fn old_rows_are_read_and_move_when_they_are_written_to() {
    for engine in engines() {
        let fixture = Fixture::new(engine);
        let stats = open(&fixture);
        let driver = fixture.driver();
        let mut batch = Batch::new();
        let mut listed = [PREFIX, &[2]].concat();
        tuple::put_bytes(&mut listed, b"n");
        tuple::put_binary(&mut listed, b"");
        batch.put(listed, b"\x01n");
        let one = BTreeMap::from([(path("a"), Number::ONE)]);
        for minute in 0..10 {
            batch.put(old_key(2, BEGIN + 60 * minute), old_row(&one));
        }
        batch.put(old_key(3, BEGIN), old_row(&one));
        driver.commit(batch).expect("stored");
        let minutes = Range::new(
            "1m".parse().expect("one"),
            second(BEGIN),
            second(BEGIN + 3599),
        );
        let sum = || {
            let points = stats.values("n", minutes.skip_blanks()).expect("values");
            let numbers = points
                .iter()
                .filter_map(|point| point.values.get(&path("a")));
            numbers.map(Number::to_f64).sum::<f64>()
        };
        assert_eq!((sum(), own_rows(&driver)), (10.0, 11), "{engine}");
        for (minute, rows) in [(4, 9), (4, 9), (9, 8), (20, 8), (0, 7)] {
            let at = second(BEGIN + 60 * minute);
            stats.track("n", at, packed(r#"{"a":1}"#)).expect("tracked");
            assert_eq!(own_rows(&driver), rows, "{engine}, minute {minute}");
        }
        assert_eq!(sum(), 15.0, "{engine}");
        let hours = Range::new("1h".parse().expect("one"), second(BEGIN), second(BEGIN));
        let hour = stats.values("n", hours).expect("values").remove(0);
        assert_eq!(
            hour.values.get(&path("a")),
            Some(Number::from(6)),
            "{engine}"
        );
    }
}

#[test]
fn the_order_of_writes_does_not_change_buckets() {
    for engine in engines() {
        let fixture = Fixture::new(engine);
        let stats = open(&fixture);
        let one = packed(r#"{"a":1}"#);
        for minutes in [0..200, 400..600, 200..400] {
            let forward = minutes.clone().map(|minute| second(BEGIN + 60 * minute));
            let writes = forward.map(|at| Write::track("n", at, one.clone()));
            stats.submit(Request::new(writes)).expect("forward");
            let backward = minutes.rev().map(|minute| second(BEGIN + 60 * minute));
            for at in backward {
                stats.track("n", at, one.clone()).expect("backward");
            }
        }
        let minutes = Range::new(
            "1m".parse().expect("one"),
            second(BEGIN),
            second(BEGIN + 35_999),
        );
        let points = stats.values("n", minutes).expect("values");
        assert_eq!(points.len(), 600, "{engine}");
        for point in points {
            assert_eq!(
                point.values.get(&path("a")),
                Some(Number::from(2)),
                "{engine}"
            );
        }
    }
}

fn settings_row(fixture: &Fixture) -> String {
    let snapshot = fixture.driver().snapshot().expect("a snapshot");
    let row = snapshot.get(&[PREFIX, &[0]].concat()).expect("read");
    String::from_utf8(row.unwrap_or_default().into_owned()).expect("text")
}

#[test]
fn the_first_write_stores_the_format_and_keeps_old_settings() {
    let old = r#"{"time-zone":"Europe/Prague","week-begins":"monday","granularities":["1m"],"retention":{},"system":false}"#;
    for engine in engines() {
        let fixture = Fixture::new(engine);
        let mut batch = Batch::new();
        batch.put([PREFIX, &[0]].concat(), old);
        fixture.driver().commit(batch).expect("stored");
        let stats = fixture.stats();
        let settings = stats.settings();
        assert_eq!(settings.time_zone, "Europe/Prague");
        assert_eq!(settings.system, SystemMetric::Off);
        stats
            .track("n", second(BEGIN), packed(r#"{"a":1}"#))
            .expect("tracked");
        let row = settings_row(&fixture);
        assert!(
            row.starts_with(r#"{"format":2,"#) && !row.contains("system"),
            "{row}"
        );
        assert_eq!(fixture.stats().settings(), settings);
    }
}

#[test]
fn a_store_without_settings_gets_the_format_and_can_be_configured_later() {
    let fixture = Fixture::new("memory:");
    let stats = fixture.stats();
    stats
        .track("n", second(BEGIN), packed(r#"{"a":1}"#))
        .expect("tracked");
    assert_eq!(settings_row(&fixture), r#"{"format":2}"#);
    let mut settings = stats.settings();
    settings.time_zone = "Asia/Kolkata".to_owned();
    stats.configure(settings.clone()).expect("configured");
    assert_eq!(fixture.stats().settings(), settings);
}

#[test]
fn a_store_of_a_later_format_is_not_opened() {
    let fixture = Fixture::new("memory:");
    let mut batch = Batch::new();
    batch.put([PREFIX, &[0]].concat(), r#"{"format":3,"x":1}"#);
    fixture.driver().commit(batch).expect("stored");
    let opened = Stats::open(fixture.driver(), PREFIX, fixture.clock.clone());
    let error = opened.err().expect("a later format");
    assert_eq!(error.kind(), ErrorKind::Settings);
    assert!(error.to_string().contains("format 3"), "{error}");
}

#[test]
fn a_request_with_too_many_values_is_rejected() {
    let fixture = Fixture::new("memory:");
    let stats = open(&fixture);
    let values = (0..1000).map(|value| (path(&format!("v{value}")), Number::ONE));
    let values: PathValues = values.collect();
    let write = Write::track("n", second(BEGIN), values);
    let error = stats.submit(Request::new(vec![write; REQUEST_VALUES_MAX / 1000 + 1]));
    let error = error.expect_err("too many values");
    assert!(
        error.to_string().contains("1000000 in a request"),
        "{error}"
    );
    let name = "n".repeat(1000);
    let write = Write::track(name.as_str(), second(BEGIN), packed(r#"{"a":1}"#));
    let error = stats.submit(Request::new(vec![write; REQUEST_BYTES_MAX / 1000 + 1]));
    let error = error.expect_err("too many bytes");
    assert!(error.to_string().contains("in a request"), "{error}");
    assert!(stats.keys("").expect("keys").is_empty());
}
