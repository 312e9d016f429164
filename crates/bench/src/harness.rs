//! Measuring: wall-clock time of each repetition, processor time of all of them, the peak of memory.

use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rustix::time::{ClockId, clock_gettime};

use super::memory::{forget_resident_peak, resident_peak};
use espalier_terminal::{Failure, Result};

/// What was measured, in seconds of one repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// How many repetitions.
    pub n: u64,
    /// The median.
    pub median_s: f64,
    /// The least.
    pub min_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
    /// Processor time, user and system, on average.
    pub cpu_s: f64,
    /// The most memory of this process that was resident, pages of mapped files too, in bytes; 0
    /// where it was not measured.
    pub peak_bytes: u64,
}

/// How often something is done.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Repetitions before measuring begins.
    pub warm_up: u64,
    /// The most repetitions that are measured.
    pub repetitions_max: u64,
    /// Measuring ends after this time, though not before the third repetition.
    pub time_max: Duration,
}

impl Plan {
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

    /// For what cannot be done twice.
    pub const fn once() -> Self {
        Self::few(1)
    }

    /// The number of calls that [`measure`] makes at most.
    pub fn calls_max(self) -> u64 {
        self.warm_up + self.repetitions_max
    }
}

/// Repetitions that are measured whatever they take.
const REPETITIONS_MIN: usize = 3;

/// After so many times the longest time there is no further repetition at all.
const PATIENCE: u32 = 4;

/// Does `operation` again and again; it is given the number of the call, from 0. What it returns
/// is checked outside the measured time.
pub fn measure<T>(
    plan: Plan,
    mut operation: impl FnMut(u64) -> Result<T>,
    mut check: impl FnMut(u64, T) -> Result<()>,
) -> Result<Timing> {
    let mut samples = Vec::new();
    let mut cpu = Duration::ZERO;
    forget_resident_peak();
    let started = Instant::now();
    for call in 0..plan.calls_max() {
        let cpu_before = cpu_time();
        let before = Instant::now();
        let answer = operation(call)?;
        let elapsed = before.elapsed();
        let cpu_after = cpu_time();
        check(call, answer)?;
        if call >= plan.warm_up {
            samples.push(elapsed.as_secs_f64());
            cpu += cpu_after.saturating_sub(cpu_before);
        }
        let elapsed = started.elapsed();
        let is_enough = samples.len() >= REPETITIONS_MIN && elapsed > plan.time_max;
        if is_enough || !samples.is_empty() && elapsed > plan.time_max * PATIENCE {
            break;
        }
    }
    let peak_bytes = resident_peak();
    Ok(Timing {
        peak_bytes,
        ..Timing::of(samples, cpu)?
    })
}

/// Puts things into an order that is drawn; the same seed draws the same.
pub fn shuffle<T>(things: &mut [T], seed: u64) {
    things.shuffle(&mut StdRng::seed_from_u64(seed));
}

impl Timing {
    /// What was measured elsewhere: the wall-clock seconds of each repetition, and the processor
    /// time of all of them.
    pub fn of(mut samples: Vec<f64>, cpu: Duration) -> Result<Self> {
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
    /// The timing of one operation, where each repetition was of so many.
    #[must_use]
    pub fn part(self, operations: u64) -> Self {
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

    /// Several timings as one; each counts as one repetition of its median.
    pub fn all(timings: &[Self]) -> Result<Self> {
        let samples = timings.iter().map(|timing| timing.median_s).collect();
        let cpu = timings.iter().map(|timing| timing.cpu_s).sum();
        let peaks = timings.iter().map(|timing| timing.peak_bytes);
        Ok(Self {
            peak_bytes: peaks.max().unwrap_or(0),
            ..Self::of(
                samples,
                Duration::try_from_secs_f64(cpu).unwrap_or_default(),
            )?
        })
    }
}

/// Has all threads do their part; the time of one call, over all of them. Each makes so many.
pub fn together(
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
    Timing::of(vec![seconds], cpu)
}

/// Processor time of this process so far.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_statistics_are_taken_from_the_samples() {
        let samples = (1..=100).rev().map(f64::from).collect();
        let timing = Timing::of(samples, Duration::from_secs(200)).expect("samples");
        assert_eq!(
            (timing.min_s, timing.median_s, timing.p99_s),
            (1.0, 51.0, 100.0)
        );
        assert_eq!((timing.n, timing.cpu_s), (100, 2.0));
        assert!(Timing::of(Vec::new(), Duration::ZERO).is_err());
    }
}
