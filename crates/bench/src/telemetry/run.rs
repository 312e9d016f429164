//! The rows: writing, the read of one series, the sum over all of them.

use std::time::Instant;

use espalier_stats::{Number, Query, Range, Request, Series, Stats};

use super::series::{Interfaces, NAME, VALUES, second};
use crate::configuration::Configuration;
use crate::dataset::expect;
use crate::harness::{Repetitions, Timing, cpu_time, measure};
use crate::output::Output;
use crate::row::Row;
use crate::trifle::{Engine, timestamp};
use espalier_terminal::Result;

/// The parameters of the suite.
pub struct Telemetry {
    /// Numbers of series.
    pub sizes: Vec<u64>,
    /// The number of calls of each series.
    pub minutes: u64,
    /// The configurations to measure.
    pub configurations: Vec<Configuration>,
}

/// The name of the suite.
const SUITE: &str = "telemetry";

/// Published bytes of a sample.
const PUBLISHED: &str = "published bytes of one sample: Prometheus 1 to 2 (its documentation, Storage), VictoriaMetrics 0.3 (its benchmark against Prometheus)";

/// Series of which one is read at a time.
const READ_SERIES: u64 = 200;

/// Runs the suite. Fails at the first wrong result.
pub fn run(telemetry: &Telemetry, output: &mut Output) -> Result<()> {
    for configuration in &telemetry.configurations {
        for &size in &telemetry.sizes {
            let engine = Engine::open(configuration)?;
            Run {
                stats: engine.stats()?,
                interfaces: Interfaces::new(size)?,
                engine: &engine,
                minutes: telemetry.minutes,
            }
            .all(output)?;
        }
    }
    Ok(())
}

struct Run<'a> {
    engine: &'a Engine,
    stats: Stats,
    interfaces: Interfaces,
    minutes: u64,
}

impl Run<'_> {
    fn all(mut self, output: &mut Output) -> Result<()> {
        self.write(output)?;
        for granularity in ["1m", "1h", "1d"] {
            self.read_one(granularity, output)?;
            self.read_sum(granularity, output)?;
        }
        Ok(())
    }

    fn row(&self, name: String) -> Row {
        let labels = self.engine.configuration.labels();
        Row::new(SUITE, name, labels, self.interfaces.metrics().len() as u64)
    }

    fn write(&mut self, output: &mut Output) -> Result<()> {
        let series = self.interfaces.metrics().len() as u64;
        let mut samples = Vec::with_capacity(self.minutes as usize);
        let mut cpu = std::time::Duration::ZERO;
        for minute in 0..self.minutes {
            let request = Request::new(self.interfaces.writes(minute)?);
            let (begun, before) = (Instant::now(), cpu_time());
            self.stats.submit(request)?;
            cpu += cpu_time().saturating_sub(before);
            samples.push(begun.elapsed().as_secs_f64());
        }
        self.engine.driver.flush()?;
        let calls = (series * self.minutes) as f64;
        let bytes = self.engine.driver.usage()?.bytes as f64 / calls;
        let seconds: f64 = samples.iter().sum();
        let timing = Timing::from_samples(samples, cpu)?.per_operation(series);
        let row = self.row(format!("write, {} minutes", self.minutes));
        let rate = calls * VALUES as f64 / seconds;
        let row = row
            .timed(&timing)
            .note(format!("{rate:.0} values per second, {VALUES} in a call"))
            .note(format!(
                "{bytes:.1} bytes a call on disk, for seven granularities"
            ))
            .note(PUBLISHED);
        output.add_row(&row)
    }

    fn range(&self, granularity: &str) -> Result<Range> {
        let (first, last) = (second(0), second(self.minutes - 1));
        let range = Range::new(granularity.parse()?, timestamp(first)?, timestamp(last)?);
        Ok(range.skip_blanks())
    }

    fn read_one(&self, granularity: &str, output: &mut Output) -> Result<()> {
        let range = self.range(granularity)?;
        let metrics = self.interfaces.metrics();
        let expected = {
            let starts = self.stats.calendar();
            let line = starts.timeline(range.granularity, range.from, range.to)?;
            line.count()
        };
        let timing = measure(
            Repetitions::many(READ_SERIES),
            |call| {
                let metric = &metrics[call as usize * 7 % metrics.len()];
                Ok(self.stats.values(metric.clone(), range)?.len())
            },
            |_, found| {
                expect(found == expected, || {
                    format!("{found} buckets instead of {expected}")
                })
            },
        )?;
        let name = format!("one series by {granularity}, {} minutes", self.minutes);
        output.add_row(&self.row(name).timed(&timing))
    }

    fn read_sum(&self, granularity: &str, output: &mut Output) -> Result<()> {
        let query = Query::new(NAME, self.range(granularity)?);
        let expected = Number::from(self.interfaces.sum);
        let timing = measure(
            Repetitions::few(3),
            |_| Ok(self.stats.query(&query)?),
            |_, groups| {
                let series = groups.first().map(|group| &group.series);
                let found = series.map_or(Ok(Number::ZERO), |series| self.total(series))?;
                expect(found == expected, || {
                    format!("the sum is {found} instead of {expected}")
                })
            },
        )?;
        let name = format!("sum over all by {granularity}, {} minutes", self.minutes);
        output.add_row(&self.row(name).timed(&timing))
    }

    fn total(&self, series: &Series) -> Result<Number> {
        let mut total = Number::ZERO;
        for point in series.points() {
            let number = point.values.get(self.interfaces.path());
            total = total.plus(number.unwrap_or(Number::ZERO))?;
        }
        Ok(total)
    }
}
