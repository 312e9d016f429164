//! Measures many series with one call a minute each. Run with `--ignored --nocapture`; `SERIES`, `MINUTES` and `VALUES`
//! (of a call) are environment variables.

mod fixture;

use std::time::{Duration, Instant};

use espalier_stats::{
    Metric, Number, Path, PathValues, Query, Range, Request, Stats, SystemMetric, Timestamp, Write,
};
use fixture::{Fixture, time};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const FROM: &str = "2025-03-05T00:00:00Z";

fn variable(name: &str, default: i64) -> i64 {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(time(FROM).as_second() + 60 * minute).expect("a time")
}

/// A series, and the octets that it usually counts in a minute.
struct Interface {
    metric: Metric,
    paths: Vec<Path>,
    usual: i64,
}

impl Interface {
    fn write(&self, minute: i64, random: &mut StdRng) -> Write {
        let values = self.paths.iter().enumerate().map(|(index, path)| {
            let octets = self.usual + random.random_range(-self.usual / 10..=self.usual / 10);
            // The third value counts errors: mostly zero.
            let number = match index {
                2 => i64::from(random.random_bool(0.01)),
                _ => octets,
            };
            (path.clone(), Number::from(number))
        });
        let values: PathValues = values.collect();
        Write::track(self.metric.clone(), at(minute), values)
    }
}

fn interfaces(random: &mut StdRng) -> Vec<Interface> {
    let names = ["in-octets", "out-octets", "errors", "drops"];
    let paths: Vec<_> = names[..variable("VALUES", 2) as usize]
        .iter()
        .map(|name| Path::of([*name]).expect("a path"))
        .collect();
    let series = 0..variable("SERIES", 10_000);
    let interface = |number: i64| Interface {
        metric: Metric::new("interface")
            .label("device", format!("router{}", number / 48))
            .label("port", format!("ge-0/0/{}", number % 48)),
        paths: paths.clone(),
        usual: 1 << random.random_range(10..28),
    };
    series.map(interface).collect()
}

/// The time that this thread has run on a processor.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = text.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(time.unwrap_or(0))
}

fn report(name: &str, count: i64, time: Duration) {
    let rate = count as f64 / time.as_secs_f64();
    println!("  {name}: {time:?}, {rate:.0}/s");
}

fn read(stats: &Stats, interfaces: &[Interface], minutes: i64) {
    for granularity in ["1m", "1h", "1d"] {
        let granularity = granularity.parse().expect("a granularity");
        let range = Range::new(granularity, at(0), at(minutes - 1)).skip_blanks();
        let begin = Instant::now();
        let mut points = 0;
        for interface in interfaces.iter().step_by(interfaces.len().div_ceil(100)) {
            let read = stats.values(interface.metric.clone(), range);
            points += read.expect("values").len();
        }
        report(
            &format!("{granularity} of 100 series, points"),
            points as i64,
            begin.elapsed(),
        );
        let begin = Instant::now();
        let groups = stats.query(&Query::new("interface", range)).expect("sums");
        let points = groups[0].series.points().len() * interfaces.len();
        report(
            &format!("{granularity} sum over all, points"),
            points as i64,
            begin.elapsed(),
        );
    }
}

#[test]
#[ignore = "measures, checks nothing"]
fn a_day_of_interfaces() {
    let engine = std::env::var("ENGINE").unwrap_or("embedded:{dir}/a?durability=relaxed".into());
    let fixture = Fixture::new(&engine);
    let stats = fixture.stats_with(|settings| {
        if variable("LISTED", 1) == 0 {
            settings.system = SystemMetric::Off;
        }
    });
    let random = &mut StdRng::seed_from_u64(1);
    let interfaces = interfaces(random);
    let minutes = variable("MINUTES", 120);
    let calls = minutes * interfaces.len() as i64;
    let [mut time, mut slowest, mut processor] = [Duration::ZERO; 3];
    for minute in 0..minutes {
        let writes = interfaces.iter().map(|one| one.write(minute, random));
        let request = Request::new(writes);
        // Reading the processor time costs more than a single call.
        let is_batch = interfaces.len() >= 100;
        let before = is_batch.then(processor_time);
        let begin = Instant::now();
        stats.submit(request).expect("written");
        let elapsed = begin.elapsed();
        processor += before.map_or(Duration::ZERO, |before| processor_time() - before);
        time += elapsed;
        slowest = slowest.max(elapsed);
    }
    println!("{engine}: {} series, {minutes} minutes", interfaces.len());
    report("calls", calls, time);
    report("values", calls * variable("VALUES", 2), time);
    let each = processor / u32::try_from(calls).expect("few calls");
    println!("  {each:?} of processor time a call");
    println!("  slowest batch: {slowest:?}");
    fixture.driver().flush().expect("flushed");
    let usage = fixture.driver().usage().expect("usage");
    let bytes = usage.bytes as f64 / calls as f64;
    println!("  {bytes:.1} bytes a call, {} rows", usage.keys);
    read(&stats, &interfaces, minutes);
}
