//! The columns of the table, for each engine, payload and number of calls.

use std::time::Instant;

use espalier_stats::{Designator, Number, PathValues, Point, Range, Stats, Timestamp, Write};

use super::comparison::{self, Column};
use super::engine::Engine;
use super::payload::{PAYLOADS, Payload};
use super::table::Table;
use super::threads_and_ranges;
use crate::configuration::Configuration;
use crate::dataset::expect;
use crate::harness::{Timing, cpu_time};
use crate::output::Output;
use espalier_terminal::{Failure, Result};

/// The parameters of the suite.
pub struct Trifle {
    /// Numbers of calls.
    pub counts: Vec<u64>,
    /// The configurations to measure.
    pub configurations: Vec<Configuration>,
}

/// The timestamp of all writes, in seconds: Trifle::Stats also uses a fixed one in a run.
const SECOND: i64 = 1_741_176_030;

/// Runs the suite. Fails at the first wrong result.
pub fn run(trifle: &Trifle, output: &mut Output) -> Result<()> {
    let mut table = Table::default();
    for configuration in &trifle.configurations {
        let engine = &Engine::open(configuration)?;
        for &calls in &trifle.counts {
            for payload in PAYLOADS {
                let mut seconds = [0.0; 6];
                Calls::new(engine, payload, calls)?.all(output, &mut seconds)?;
                table.add(engine, payload, calls, seconds);
            }
        }
        threads_and_ranges::run(engine, output)?;
    }
    output.text(&table.to_string())
}

/// The calls with one payload.
struct Calls<'a> {
    engine: &'a Engine,
    stats: Stats,
    payload: Payload,
    calls: u64,
    at: Timestamp,
    designator: Designator,
}

impl<'a> Calls<'a> {
    fn new(engine: &'a Engine, payload: Payload, calls: u64) -> Result<Self> {
        Ok(Self {
            engine,
            stats: engine.stats()?,
            payload,
            calls,
            at: timestamp(SECOND)?,
            designator: Designator::linear(Number::from(0), Number::from(100), 10)?,
        })
    }

    /// Measures all columns, and checks the stored values.
    fn all(&self, output: &mut Output, seconds: &mut [f64; 6]) -> Result<()> {
        let packed = self.payload.packed()?;
        let raised = (0..self.calls).map(|call| self.payload.raised(call));
        let raised = raised.collect::<Result<Vec<_>>>()?;
        for column in Column::ALL {
            let timing = match column {
                Column::Assort => self.time(|_| {
                    let (at, designator) = (self.at, &self.designator);
                    let write = Write::assort("perf_assort", at, &packed, designator)?;
                    self.stats.submit(write)?;
                    Ok(())
                }),
                Column::Assert => self.time(|call| {
                    let values = raised[call as usize].clone();
                    Ok(self.stats.assert("perf_assert", self.at, values)?)
                }),
                Column::Track => {
                    self.time(|_| Ok(self.stats.track("perf_track", self.at, packed.clone())?))
                }
                Column::Values => self.time(|_| self.values().map(drop)),
                Column::Beam => self.time(|call| {
                    let json = self.status(call);
                    self.stats.beam("perf_beam", later(self.at, call)?, &json)?;
                    Ok(())
                }),
                Column::Scan => self.time(|_| {
                    self.stats
                        .scan("perf_beam")
                        .map(drop)
                        .map_err(Failure::from)
                }),
            }?;
            seconds[column as usize] = timing.1;
            let name = format!("{} of {}", column.name(), self.payload.name);
            let mut row = self.engine.row(name, self.calls).timed(&timing.0);
            if let Some(peer) = self.engine.peer {
                row = row.peers(comparison::peers(peer, self.payload, column, self.calls));
                if let Some(theirs) = comparison::measured(peer, self.payload, column) {
                    let ratio = theirs * self.calls as f64 / timing.1;
                    row = row.note(format!(
                        "x{ratio:.1} faster than our measurement of Trifle::Stats"
                    ));
                }
            }
            output.add_row(&row)?;
        }
        self.check(&packed, raised.last())
    }

    /// The time of each call, and of all of them.
    fn time(&self, mut call: impl FnMut(u64) -> Result<()>) -> Result<(Timing, f64)> {
        let (cpu, started) = (cpu_time(), Instant::now());
        let mut samples = Vec::with_capacity(self.calls as usize);
        for number in 0..self.calls {
            let begun = Instant::now();
            call(number)?;
            samples.push(begun.elapsed().as_secs_f64());
        }
        let all = started.elapsed().as_secs_f64();
        let cpu = cpu_time().saturating_sub(cpu);
        Ok((Timing::from_samples(samples, cpu)?, all))
    }

    /// Three reads of one hour, as in Trifle::Stats.
    fn values(&self) -> Result<[Vec<Point>; 3]> {
        let range = Range::new("1h".parse()?, self.at, self.at);
        let read = |metric: &str| self.stats.values(metric, range).map_err(Failure::from);
        Ok([
            read("perf_assort")?,
            read("perf_assert")?,
            read("perf_track")?,
        ])
    }

    fn status(&self, call: u64) -> String {
        format!(r#"{{"call":{call},"values":{}}}"#, self.payload.json)
    }

    fn check(&self, packed: &PathValues, last: Option<&PathValues>) -> Result<()> {
        let [assorted, asserted, tracked] = self.values()?;
        let one = |points: &[Point]| match points {
            [point] => point.values.clone(),
            _ => PathValues::new(),
        };
        let mut sums = PathValues::new();
        let mut classes = PathValues::new();
        for (path, number) in packed.iter() {
            let sum = number.to_f64() as i64 * self.calls as i64;
            sums.set(path.clone(), Number::from(sum));
            let class = path.child(&self.designator.designate(*number))?;
            classes.set(class, Number::from(self.calls));
        }
        let right = |what: &str, found: &PathValues, expected: &PathValues| {
            expect(found == expected, || {
                format!("{what} left {found:?}, not {expected:?}")
            })
        };
        right("TRACK", &one(&tracked), &sums)?;
        right("ASSORT", &one(&assorted), &classes)?;
        right("ASSERT", &one(&asserted), last.unwrap_or(packed))?;
        let status = self.stats.scan("perf_beam")?.map(|status| status.json);
        let expected = self.status(self.calls - 1);
        expect(status.as_ref() == Some(&expected), || {
            format!("SCAN gave {status:?}, not {expected}")
        })
    }
}

/// The timestamp of a second since 1970.
pub fn timestamp(second: i64) -> Result<Timestamp> {
    Timestamp::from_second(second).map_err(|error| Failure::usage(error.to_string()))
}

/// A timestamp some microseconds later, so that each BEAM is newer than the last.
fn later(at: Timestamp, call: u64) -> Result<Timestamp> {
    let micros = at.as_microsecond() + call as i64;
    Timestamp::from_microsecond(micros).map_err(|error| Failure::usage(error.to_string()))
}
