//! Rows that the published table leaves out: several threads, and a range of many buckets.

use std::sync::Arc;
use std::time::Instant;

use espalier_stats::{Buffer, Limits, Metric, Number, Path, PathValues, Range, Stats, Write};

use super::comparison;
use super::engine::Engine;
use super::run::timestamp;
use crate::dataset::expect;
use crate::harness::{Timing, cpu_time, run_threads};
use crate::output::Output;
use espalier_terminal::{Failure, Result};

/// The number of writing threads.
const THREADS: u64 = 4;

/// The number of calls of each thread, without and with a buffer.
const CALLS: u64 = 500;
const BUFFERED_CALLS: u64 = 250_000;

/// The number of buckets of the long range, and of those read one by one.
const BUCKETS: i64 = 10_000;
const ONE_BY_ONE: i64 = 1_000;

/// The timestamp of the first bucket in seconds, the start of a minute.
const FIRST_SECOND: i64 = 1_741_176_000;

/// Measures these rows on an engine.
pub fn run(engine: &Engine, output: &mut Output) -> Result<()> {
    threads(engine, output)?;
    buffered(engine, output)?;
    long_range(engine, output)
}

/// The metric of a thread: each writes to its own.
fn metric(thread: u64) -> Metric {
    Metric::new(format!("perf_{thread}"))
}

fn one() -> Result<PathValues> {
    Ok(PathValues::one(Path::parse("a")?, Number::from(1)))
}

/// Checks that the calls of each thread are counted exactly.
fn check(stats: &Stats, calls: u64) -> Result<()> {
    let at = timestamp(FIRST_SECOND)?;
    for thread in 0..THREADS {
        let points = stats.values(metric(thread), Range::new("1y".parse()?, at, at))?;
        let found = points
            .first()
            .and_then(|point| point.values.get(&Path::parse("a").ok()?));
        let expected = Some(Number::from(calls));
        expect(found == expected, || {
            format!("thread {thread} left {found:?}, not {expected:?}")
        })?;
    }
    Ok(())
}

fn rate(timing: &Timing) -> String {
    format!("{:.0} calls per second", 1.0 / timing.median_s)
}

fn threads(engine: &Engine, output: &mut Output) -> Result<()> {
    let (stats, at, values) = (engine.stats()?, timestamp(FIRST_SECOND)?, one()?);
    let timing = run_threads(THREADS, CALLS, |thread| {
        (0..CALLS).try_for_each(|_| Ok(stats.track(metric(thread), at, values.clone())?))
    })?;
    check(&stats, CALLS)?;
    let row = engine.row(format!("TRACK by {THREADS} threads"), THREADS * CALLS);
    output.add_row(&row.timed(&timing).note(rate(&timing)))
}

fn buffered(engine: &Engine, output: &mut Output) -> Result<()> {
    let (stats, at, values) = (Arc::new(engine.stats()?), timestamp(FIRST_SECOND)?, one()?);
    let buffer = Buffer::new(Arc::clone(&stats), Limits::default())?;
    let timing = run_threads(THREADS, BUFFERED_CALLS, |thread| {
        (0..BUFFERED_CALLS).try_for_each(|_| {
            let write = Write::track(metric(thread), at, values.clone());
            buffer.submit(write).map_err(Failure::from)
        })?;
        Ok(buffer.flush()?)
    })?;
    check(&stats, BUFFERED_CALLS)?;
    let row = engine.row(
        format!("TRACK buffered by {THREADS} threads"),
        THREADS * BUFFERED_CALLS,
    );
    output.add_row(
        &row.timed(&timing)
            .note(rate(&timing))
            .note("includes the last flush"),
    )
}

fn long_range(engine: &Engine, output: &mut Output) -> Result<()> {
    let (stats, values) = (engine.stats()?, one()?);
    let mut settings = stats.settings();
    settings.granularities = ["1m".parse()?].into_iter().collect();
    stats.configure(settings)?;
    let at = |bucket: i64| timestamp(FIRST_SECOND + 60 * bucket);
    for from in (0..BUCKETS).step_by(1_000) {
        let writes = (from..from + 1_000)
            .map(|bucket| Ok(Write::track("perf_range", at(bucket)?, values.clone())));
        stats.submit(espalier_stats::Request::new(
            writes.collect::<Result<Vec<_>>>()?,
        ))?;
    }
    let range = |from, to| -> Result<Range> { Ok(Range::new("1m".parse()?, at(from)?, at(to)?)) };
    let read = |from, to| -> Result<usize> {
        let points = stats.values("perf_range", range(from, to)?)?;
        Ok(points.iter().filter(|point| point.values == values).count())
    };
    let once = |work: &dyn Fn() -> Result<usize>, expected: i64| -> Result<Timing> {
        let mut samples = Vec::new();
        let cpu = cpu_time();
        for _ in 0..3 {
            let begun = Instant::now();
            let found = work()?;
            samples.push(begun.elapsed().as_secs_f64());
            expect(found as i64 == expected, || {
                format!("{found} buckets instead of {expected}")
            })?;
        }
        Timing::from_samples(samples, cpu_time().saturating_sub(cpu))
    };
    let scan = once(&|| read(0, BUCKETS - 1), BUCKETS)?;
    let each = once(
        &|| (0..ONE_BY_ONE).map(|bucket| read(bucket, bucket)).sum(),
        ONE_BY_ONE,
    )?;
    let ratio = each.median_s / ONE_BY_ONE as f64 * BUCKETS as f64 / scan.median_s;
    let row = engine.row("VALUES of 10,000 buckets".to_owned(), BUCKETS as u64);
    let mut row = row.timed(&scan).note(format!(
        "x{ratio:.1} faster than bucket by bucket on this engine (of {ONE_BY_ONE})"
    ));
    if let Some(peer) = engine.peer
        && let Some(theirs) = comparison::one_by_one(peer, BUCKETS as u64)
    {
        let ratio = theirs.seconds / scan.median_s;
        row = row.note(format!(
            "x{ratio:.0} faster than Trifle::Stats, bucket by bucket"
        ));
        row = row.peers([theirs]);
    }
    output.add_row(&row)
}
