//! Measures operations: wall-clock time of each repetition, processor time of all, peak memory.

use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rustix::time::{ClockId, clock_gettime};

use super::memory::{reset_resident_peak, resident_peak};
use espalier_terminal::{Failure, Result};

/// The result of a measurement, in seconds per repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The number of repetitions.
    pub n: u64,
    /// The median.
    pub median_s: f64,
    /// The minimum.
    pub min_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
    /// Processor time, user and system, on average.
    pub cpu_s: f64,
    /// The peak resident memory of this process in bytes, mapped files included; 0 if it was not measured.
    pub peak_bytes: u64,
}

/// The number of repetitions of a measurement, and its time limit.
#[derive(Clone, Copy, Debug)]
pub struct Repetitions {
    /// Repetitions before the measurement begins.
    pub warm_up: u64,
    /// The largest number of measured repetitions.
    pub repetitions_max: u64,
    /// The measurement ends after this time, but not before the third repetition.
    pub time_max: Duration,
}

impl Repetitions {
    /// For operations of microseconds.
    pub const fn many(repetitions_max: u64) -> Self {
        Self {
            warm_up: repetitions_max / 10,
            repetitions_max,
            time_max: Duration::from_secs(10),
        }
    }

    /// For operations of seconds.
    pub const fn few(repetitions_max: u64) -> Self {
        Self {
            warm_up: 0,
            repetitions_max,
            time_max: Duration::from_secs(5),
        }
    }

    /// For operations that cannot be repeated.
    pub const fn once() -> Self {
        Self::few(1)
    }

    /// The largest number of calls that [`measure`] makes.
    pub fn calls_max(self) -> u64 {
        self.warm_up + self.repetitions_max
    }
}

/// The number of repetitions after which the time limit applies.
const REPETITIONS_MIN: usize = 3;

/// After this multiple of the time limit no further repetition is made at all.
const TIME_MAX_FACTOR: u32 = 4;

/// Repeats `operation`, which gets the number of the call, from 0. `check` gets its result; its time is not measured.
pub fn measure<T>(
    plan: Repetitions,
    mut operation: impl FnMut(u64) -> Result<T>,
    mut check: impl FnMut(u64, T) -> Result<()>,
) -> Result<Timing> {
    let mut samples = Vec::new();
    let mut cpu = Duration::ZERO;
    reset_resident_peak();
    let started = Instant::now();
    for call in 0..plan.calls_max() {
        let cpu_before = cpu_time();
        let before = Instant::now();
        let result = operation(call)?;
        let elapsed = before.elapsed();
        let cpu_after = cpu_time();
        check(call, result)?;
        if call >= plan.warm_up {
            samples.push(elapsed.as_secs_f64());
            cpu += cpu_after.saturating_sub(cpu_before);
        }
        let elapsed = started.elapsed();
        let is_enough = samples.len() >= REPETITIONS_MIN && elapsed > plan.time_max;
        if is_enough || !samples.is_empty() && elapsed > plan.time_max * TIME_MAX_FACTOR {
            break;
        }
    }
    let peak_bytes = resident_peak();
    Ok(Timing {
        peak_bytes,
        ..Timing::from_samples(samples, cpu)?
    })
}

/// Shuffles a slice; the same seed gives the same order.
pub fn shuffle<T>(things: &mut [T], seed: u64) {
    things.shuffle(&mut StdRng::seed_from_u64(seed));
}

impl Timing {
    /// Builds a timing from the wall-clock seconds of each repetition and the processor time of all of them.
    pub fn from_samples(mut samples: Vec<f64>, cpu: Duration) -> Result<Self> {
        samples.sort_unstable_by(f64::total_cmp);
        let (Some(&min_s), n) = (samples.first(), samples.len()) else {
            return Err(Failure::usage("nothing was measured"));
        };
        let at = |part: f64| samples[((n as f64 * part) as usize).min(n - 1)];
        Ok(Self {
            n: n as u64,
            median_s: at(0.5),
            min_s,
            p99_s: at(0.99),
            cpu_s: cpu.as_secs_f64() / n as f64,
            peak_bytes: 0,
        })
    }
}

impl Timing {
    /// The timing of one operation, if each repetition consists of `operations` of them.
    #[must_use]
    pub fn per_operation(self, operations: u64) -> Self {
        let count = operations as f64;
        Self {
            n: self.n * operations,
            median_s: self.median_s / count,
            min_s: self.min_s / count,
            p99_s: self.p99_s / count,
            cpu_s: self.cpu_s / count,
            peak_bytes: self.peak_bytes,
        }
    }

    /// Combines several timings into one; each counts as one repetition of its median.
    pub fn combined(timings: &[Self]) -> Result<Self> {
        let samples = timings.iter().map(|timing| timing.median_s).collect();
        let cpu = timings.iter().map(|timing| timing.cpu_s).sum();
        let peaks = timings.iter().map(|timing| timing.peak_bytes);
        Ok(Self {
            peak_bytes: peaks.max().unwrap_or(0),
            ..Self::from_samples(
                samples,
                Duration::try_from_secs_f64(cpu).unwrap_or_default(),
            )?
        })
    }
}

/// Runs `part` on several threads, each of which makes `calls` calls. Returns the time per call over all threads.
pub fn run_threads(
    threads: u64,
    calls: u64,
    part: impl Fn(u64) -> Result<()> + Sync,
) -> Result<Timing> {
    let (cpu, started) = (cpu_time(), Instant::now());
    let results: Vec<Result<()>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn({
                    let part = &part;
                    move || part(number)
                })
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<()>>| {
            thread
                .join()
                .unwrap_or_else(|_| Err(Failure::data("a thread panicked")))
        };
        threads.into_iter().map(join).collect()
    });
    results.into_iter().collect::<Result<()>>()?;
    let all = (threads * calls) as f64;
    let seconds = started.elapsed().as_secs_f64() / all;
    let cpu = cpu_time().saturating_sub(cpu).div_f64(all);
    Timing::from_samples(vec![seconds], cpu)
}

/// The processor time of this process so far.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_statistics_are_computed_from_the_samples() {
        let samples = (1..=100).rev().map(f64::from).collect();
        let timing = Timing::from_samples(samples, Duration::from_secs(200)).expect("samples");
        assert_eq!(
            (timing.min_s, timing.median_s, timing.p99_s),
            (1.0, 51.0, 100.0)
        );
        assert_eq!((timing.n, timing.cpu_s), (100, 2.0));
        assert!(Timing::from_samples(Vec::new(), Duration::ZERO).is_err());
    }
}
