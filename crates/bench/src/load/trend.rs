//! The trend of a long run: whether the rate and the memory at its end are those of its beginning.

use espalier_terminal::{Failure, Result};

/// A run of this many seconds or more fails if its rate or its memory drifts.
const DRIFT_FROM_S: usize = 600;

/// The smallest rate of the last part, of that of the first.
const RATE_MIN: f64 = 0.9;

/// The largest memory at the end, of that after the first part.
const MEMORY_MAX: f64 = 1.5;

/// The number of parts of a run.
const PARTS: usize = 10;

/// A run of less seconds has no trend.
const SECONDS_MIN: usize = 2 * PARTS;

/// The trend of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    seconds: usize,
    /// The rate of each part, in requests a second: the median of its seconds.
    rates: Vec<u64>,
    /// The private memory of the server after the first part and at the end, in bytes.
    memory: [u64; 2],
}

impl Trend {
    /// The trend of the requests of each second, and of the memory of the server each second. `None` if the run was too short.
    pub fn of(seconds: &[u64], memory: &[u64]) -> Option<Self> {
        if seconds.len() < SECONDS_MIN || memory.is_empty() {
            return None;
        }
        let part = seconds.len() / PARTS;
        let rates = seconds.chunks_exact(part).take(PARTS).map(median).collect();
        Some(Self {
            seconds: seconds.len(),
            rates,
            memory: [memory[(memory.len() - 1) / PARTS], memory[memory.len() - 1]],
        })
    }

    fn rate_ratio(&self) -> f64 {
        let (first, last) = (self.rates.first(), self.rates.last());
        let of = |rate: Option<&u64>| rate.copied().unwrap_or(0) as f64;
        of(last) / of(first).max(1.0)
    }

    fn memory_ratio(&self) -> f64 {
        self.memory[1] as f64 / self.memory[0].max(1) as f64
    }

    /// The trend as text.
    pub fn text(&self) -> String {
        let rates: Vec<_> = self.rates.iter().map(u64::to_string).collect();
        format!(
            "requests/s in each tenth: {}: x{:.2}; memory {:.1} MB, then {:.1}: x{:.2}",
            rates.join(" "),
            self.rate_ratio(),
            self.memory[0] as f64 / 1e6,
            self.memory[1] as f64 / 1e6,
            self.memory_ratio(),
        )
    }

    /// Fails if the run was long and drifted.
    pub fn check(&self) -> Result<()> {
        let is_flat = self.rate_ratio() >= RATE_MIN && self.memory_ratio() <= MEMORY_MAX;
        if self.seconds < DRIFT_FROM_S || is_flat {
            return Ok(());
        }
        Err(Failure::data(format!(
            "the run drifted (the last tenth must have x{RATE_MIN} of the rate of the first, and x{MEMORY_MAX} of the memory): {}",
            self.text()
        )))
    }
}

fn median(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_that_becomes_slower_fails() {
        let falling: Vec<u64> = (0..600).map(|second| 10_000 - 2 * second).collect();
        let trend = Trend::of(&falling, &[100; 600]).expect("long enough");
        trend.check().expect_err("it falls by 12 %");
        let flat = Trend::of(&[10_000; 600], &[100; 600]).expect("long enough");
        flat.check().expect("flat");
    }

    #[test]
    fn a_long_run_that_needs_more_memory_fails() {
        let growing: Vec<u64> = (0..600).map(|second| 100 + second).collect();
        let trend = Trend::of(&[10_000; 600], &growing).expect("long enough");
        trend.check().expect_err("it grows");
    }

    #[test]
    fn a_short_run_has_no_trend() {
        assert_eq!(Trend::of(&[1; 19], &[1; 19]), None);
        let falling: Vec<u64> = (0..100).map(|second| 10_000 - 50 * second).collect();
        let trend = Trend::of(&falling, &[100; 100]).expect("long enough");
        trend.check().expect("it is printed only");
    }
}
