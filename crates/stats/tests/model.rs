//! Random writes, reads, deletions and restarts, compared with a map of exact sums.

mod fixture;

use std::collections::{BTreeMap, BTreeSet};

use espalier_stats::{
    Decimal, Designator, ErrorKind, Granularity, Metric, Number, Outcome, Path, PathValues, Range,
    Request, SYSTEM_METRIC, Stats, Timestamp, Write,
};
use espalier_testkit::seed;
use espalier_testkit::servers::steps_on;
use fixture::{Fixture, engines};
use rand::Rng;
use rand::rngs::StdRng;

const YEAR: i64 = 1_735_689_600;
const METRICS: [&str; 4] = ["event::a", "event::b", "x", "__untracked__"];
const DIGITS: u32 = 4;

/// A bucket: metric, granularity, start.
type Key = (Metric, Granularity, i64);

/// The naive model of statistics: sums scaled by 10^[`DIGITS`].
#[derive(Default)]
struct Model {
    buckets: BTreeMap<Key, BTreeMap<Path, i128>>,
    /// The executed request of each name.
    requests: BTreeMap<String, Request>,
}

impl Model {
    fn write(&mut self, stats: &Stats, write: &Write) {
        self.write_one(stats, write);
        let mut listing = BTreeMap::new();
        let name = match write.listing {
            espalier_stats::Listing::Listed => write.metric.name.clone(),
            espalier_stats::Listing::Untracked => "__untracked__".to_owned(),
        };
        listing.insert(Path::of(["count"]).expect("a path"), Number::ONE);
        listing.insert(Path::of(["keys", &name]).expect("a path"), Number::ONE);
        let listing = listing.into_iter().collect();
        self.write_one(stats, &Write::track(SYSTEM_METRIC, write.at, listing));
    }

    fn write_one(&mut self, stats: &Stats, write: &Write) {
        for granularity in stats.settings().granularities {
            let bucket = stats
                .calendar()
                .bucket(granularity, write.at)
                .expect("a bucket");
            let key = (write.metric.clone(), granularity, bucket.start);
            let values = self.buckets.entry(key).or_default();
            for (path, number) in &write.values {
                let value = values.entry(path.clone()).or_default();
                match write.action {
                    espalier_stats::Action::Assert => *value = scaled(*number),
                    _ => *value += scaled(*number),
                }
            }
        }
    }
}

fn scaled(number: Number) -> i128 {
    let Number::Exact(decimal) = number else {
        panic!("{number} is a float")
    };
    decimal.mantissa() * 10_i128.pow(DIGITS - u32::from(decimal.scale()))
}

fn random_number(random: &mut StdRng) -> Number {
    match random.random_range(0..4) {
        0 => Number::from(random.random_range(-5..5_i64)),
        1 => Number::from(random.random::<i64>()),
        2 => Number::Exact(
            Decimal::new(random.random_range(-99_999..99_999), DIGITS).expect("few digits"),
        ),
        _ => Number::from_f64(f64::from(random.random_range(-1000..1000)) / 100.0).expect("finite"),
    }
}

fn random_values(random: &mut StdRng) -> PathValues {
    let names = ["a", "b.c", "b", "é", "*"];
    let count = if random.random_bool(0.02) {
        400
    } else {
        random.random_range(0..6)
    };
    let many = if count > 10 { 1000 } else { 3 };
    let values = (0..count).map(|_| {
        let outer = names[random.random_range(0..names.len())];
        let inner = format!("n{}", random.random_range(0..many));
        let path = if random.random_bool(0.5) {
            Path::of([outer])
        } else {
            Path::of([outer, &inner])
        };
        (path.expect("a path"), random_number(random))
    });
    values.collect()
}

fn random_metric(random: &mut StdRng) -> Metric {
    let metric = Metric::new(METRICS[random.random_range(0..METRICS.len())]);
    match random.random_range(0..4) {
        0 => metric.label("status", "200"),
        1 => metric.label("status", "404").label("host", "a"),
        _ => metric,
    }
}

fn random_time(random: &mut StdRng) -> Timestamp {
    let spread = [60, 86_400, 40_000_000][random.random_range(0..3)];
    Timestamp::from_second(YEAR + random.random_range(-spread..spread)).expect("a time")
}

fn random_write(random: &mut StdRng) -> Write {
    let (metric, at, values) = (
        random_metric(random),
        random_time(random),
        random_values(random),
    );
    let write = match random.random_range(0..5) {
        0 => Write::assert(metric, at, values),
        1 => {
            let designator =
                Designator::linear(Number::ZERO, Number::from(100), 10).expect("a designator");
            Write::assort(metric, at, &values, &designator).expect("short paths")
        }
        _ => Write::track(metric, at, values),
    };
    if random.random_bool(0.2) {
        write.untracked()
    } else {
        write
    }
}

fn check_range(random: &mut StdRng, stats: &Stats, model: &Model) {
    let granularities: Vec<_> = stats.settings().granularities.into_iter().collect();
    let granularity = granularities[random.random_range(0..granularities.len())];
    let from = random_time(random);
    let metric = if random.random_bool(0.2) {
        Metric::new(SYSTEM_METRIC)
    } else {
        random_metric(random)
    };
    let start = stats
        .calendar()
        .bucket(granularity, from)
        .expect("a bucket");
    let length = (start.end - start.start) * random.random_range(0..200);
    let to = Timestamp::from_second(from.as_second() + length).expect("a time");
    let end = stats
        .calendar()
        .bucket(granularity, to)
        .expect("a bucket")
        .start;
    let expected = model
        .buckets
        .range((metric.clone(), granularity, start.start)..=(metric.clone(), granularity, end));
    let expected: Vec<_> = expected
        .filter(|(_, values)| !values.is_empty())
        .map(|((_, _, start), values)| (*start, values.clone()))
        .collect();
    let range = Range::new(granularity, from, to);
    let found = stats
        .values(metric.clone(), range.skip_blanks())
        .expect("values");
    let found: Vec<_> = found
        .into_iter()
        .map(|point| {
            let values = point
                .values
                .iter()
                .map(|(path, number)| (path.clone(), scaled(*number)));
            (point.at.as_second(), values.collect::<BTreeMap<_, _>>())
        })
        .collect();
    assert_eq!(found, expected, "{metric} {granularity} {from} {to}");
    let all = stats.values(metric, range).expect("values with blanks");
    let line = stats
        .calendar()
        .timeline(granularity, from, to)
        .expect("a range")
        .count();
    assert_eq!(all.len(), line);
    let filled = all.iter().filter(|point| !point.values.is_empty()).count();
    assert_eq!(filled, expected.len());
}

fn step(random: &mut StdRng, fixture: &mut Fixture, stats: &mut Stats, model: &mut Model) {
    match random.random_range(0..100) {
        0 => {
            fixture.restart(stats);
        }
        1 => {
            let metric = random_metric(random);
            stats.delete(metric.clone()).expect("deleted");
            model
                .buckets
                .retain(|(metrics, _, _), _| *metrics != metric);
        }
        2..40 => check_range(random, stats, model),
        _ => {
            let writes = (0..random.random_range(1..4)).map(|_| random_write(random));
            let mut request = Request::new(writes);
            let mut is_new = true;
            if random.random_bool(0.3) {
                let id = format!("r{}", random.random_range(0..100));
                request = request.with_id(&id);
                match model.requests.get(&id) {
                    None => {
                        model.requests.insert(id, request.clone());
                    }
                    Some(done) if random.random_bool(0.2) && !is_alike(done, &request) => {
                        let error = stats.submit(request).expect_err("another request");
                        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
                        return;
                    }
                    Some(done) => {
                        request = done.clone();
                        is_new = false;
                    }
                }
            }
            let outcome = stats.submit(request.clone()).expect("done");
            assert_eq!(
                outcome,
                if is_new {
                    Outcome::Done
                } else {
                    Outcome::Repeated
                }
            );
            if is_new {
                request
                    .writes
                    .iter()
                    .for_each(|write| model.write(stats, write));
            }
        }
    }
}

/// Whether two requests are repetitions of each other; their times may differ.
fn is_alike(one: &Request, other: &Request) -> bool {
    let timeless = |request: &Request| {
        let mut writes = request.writes.clone();
        writes
            .iter_mut()
            .for_each(|write| write.at = Timestamp::UNIX_EPOCH);
        writes
    };
    timeless(one) == timeless(other)
}

#[test]
fn statistics_equal_a_map_of_sums() {
    seed::run("statistics_equal_a_map_of_sums", |random| {
        let random = std::cell::RefCell::new(random);
        for engine in engines() {
            eprintln!("on {engine}");
            let mut fixture = Fixture::new(engine);
            let random = &mut **random.borrow_mut();
            let mut stats = fixture.stats_with(|settings| {
                settings.time_zone = "Europe/Bratislava".to_owned();
                settings
                    .granularities
                    .insert("33m".parse().expect("a granularity"));
            });
            let mut model = Model::default();
            for _ in 0..steps_on(engine, 600) {
                step(random, &mut fixture, &mut stats, &mut model);
            }
            let metrics = model
                .buckets
                .iter()
                .filter(|(_, values)| !values.is_empty());
            let metrics: BTreeSet<_> = metrics.map(|((metric, _, _), _)| metric.clone()).collect();
            let keys: BTreeSet<_> = stats.keys("").expect("keys").into_iter().collect();
            assert_eq!(keys, metrics);
        }
    });
}
