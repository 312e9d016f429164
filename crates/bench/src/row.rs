//! The row format of bench results.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::harness::Timing;

/// One measured row. Seconds are per operation.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// The suite it belongs to.
    pub suite: Cow<'static, str>,
    /// The name of the row: the operation.
    pub row: String,
    /// The driver.
    pub driver: String,
    /// The memory policy.
    pub policy: Cow<'static, str>,
    /// `durable`, `relaxed`, or `none` for memory.
    pub durability: Cow<'static, str>,
    /// The number of list entries.
    pub size: u64,
    /// The number of repetitions.
    pub n: u64,
    /// The median of the wall-clock times.
    pub median_s: Option<f64>,
    /// The minimum of the wall-clock times.
    pub min_s: Option<f64>,
    /// The 99th percentile.
    pub p99_s: Option<f64>,
    /// Processor seconds of the whole process, user and system, on average.
    pub cpu_s: Option<f64>,
    /// The peak resident memory of the process in bytes, mapped files included.
    pub peak_bytes: Option<u64>,
    /// With several passes: the difference between the smallest and the largest median, as a fraction of the median.
    pub spread: Option<f64>,
    /// The median of the raw engine doing the same reads and writes.
    pub raw_s: Option<f64>,
    /// Published figures of other systems for the same.
    pub peer: Vec<Peer>,
    /// Further information.
    pub note: String,
    /// The position among the rows of the suite, if they are measured in another order.
    #[serde(default)]
    pub rank: usize,
}

/// A figure of another system.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Peer {
    /// The system.
    pub name: String,
    /// Its seconds for one operation.
    pub seconds: f64,
    /// The source of the figure.
    pub source: String,
}

/// The labels of the engine that a row was measured on.
#[derive(Clone, Debug)]
pub struct EngineLabels {
    /// The driver.
    pub driver: String,
    /// The memory policy.
    pub policy: &'static str,
    /// `durable`, `relaxed`, or `none` for memory.
    pub durability: &'static str,
}

impl Row {
    /// Creates a row without measurements.
    pub fn new(
        suite: &'static str,
        row: impl Into<String>,
        labels: EngineLabels,
        size: u64,
    ) -> Self {
        Self {
            suite: suite.into(),
            row: row.into(),
            driver: labels.driver,
            policy: labels.policy.into(),
            durability: labels.durability.into(),
            size,
            n: 0,
            median_s: None,
            min_s: None,
            p99_s: None,
            cpu_s: None,
            peak_bytes: None,
            spread: None,
            raw_s: None,
            peer: Vec::new(),
            note: String::new(),
            rank: 0,
        }
    }

    /// Adds a measurement.
    #[must_use]
    pub fn timed(mut self, timing: &Timing) -> Self {
        self.n = timing.n;
        self.median_s = Some(timing.median_s);
        self.min_s = Some(timing.min_s);
        self.p99_s = Some(timing.p99_s);
        self.cpu_s = Some(timing.cpu_s);
        self.peak_bytes = Some(timing.peak_bytes).filter(|bytes| *bytes > 0);
        self
    }

    /// Adds the figure of the raw engine.
    #[must_use]
    pub fn raw(mut self, raw: Option<&Timing>) -> Self {
        self.raw_s = raw.map(|timing| timing.median_s);
        self
    }

    /// Adds figures of other systems.
    #[must_use]
    pub fn peers(mut self, peers: impl IntoIterator<Item = Peer>) -> Self {
        self.peer.extend(peers);
        self
    }

    /// Appends a note.
    #[must_use]
    pub fn note(mut self, note: impl AsRef<str>) -> Self {
        if !self.note.is_empty() && !note.as_ref().is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(note.as_ref());
        self
    }

    /// The identity of the row within a run, without its size.
    pub fn key(&self) -> [&str; 5] {
        let (driver, policy, durability) = (&self.driver, &self.policy, &self.durability);
        [&self.suite, &self.row, driver, policy, durability]
    }

    /// The engine with its durability and policy, for display.
    pub fn engine(&self) -> String {
        let mut name = self.driver.clone();
        for part in [&self.durability, &self.policy] {
            if !["none", "uncached", "ram"].contains(&part.as_ref()) {
                name.push(' ');
                name.push_str(part);
            }
        }
        name
    }

    /// The relative uncertainty of the median.
    pub fn noise(&self) -> f64 {
        let within = match (self.median_s, self.min_s) {
            (Some(median), Some(min)) if median > 0.0 => (median - min) / median,
            _ => 0.0,
        };
        within.max(self.spread.unwrap_or(0.0))
    }

    /// The ratio of two times, for display: `~1` if the noise of this row is larger than the difference, and a dash
    /// if there is no ratio.
    pub fn factor(&self, numerator: Option<f64>, denominator: Option<f64>) -> String {
        match (numerator, denominator) {
            (Some(numerator), Some(denominator)) if denominator > 0.0 && numerator > 0.0 => {
                let ratio = numerator / denominator;
                match ratio.max(1.0 / ratio) <= 1.0 + self.noise() {
                    true => "~1".to_owned(),
                    false if ratio >= 100.0 => format!("x{ratio:.0}"),
                    false => format!("x{ratio:.2}"),
                }
            }
            _ => "-".to_owned(),
        }
    }

    /// The time to compare with another system's figure: processor time if the figure is processor time, otherwise
    /// the median.
    pub fn seconds_comparable_to(&self, peer: &Peer) -> Option<f64> {
        match peer.name.ends_with("cpu") {
            true => self.cpu_s,
            false => self.median_s,
        }
    }

    /// The ratio of another system's time to this row's.
    pub fn times(&self, peer: &Peer) -> String {
        self.factor(Some(peer.seconds), self.seconds_comparable_to(peer))
    }

    /// Merges measurements of the same row: medians of the medians and of processor and raw times, the sum of the
    /// repetitions, the minimum of the minima, the maximum of the rest, and the spread of the medians.
    #[must_use]
    pub fn merged(rows: &[Self]) -> Option<Self> {
        let medians = || rows.iter().filter_map(|row| row.median_s);
        let middle = |part: fn(&Self) -> Option<f64>| {
            let mut values: Vec<f64> = rows.iter().filter_map(part).collect();
            values.sort_unstable_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let last = rows.last()?.clone();
        let median_s = middle(|row| row.median_s);
        let (least, most) = medians().fold((f64::INFINITY, 0.0_f64), |(least, most), at| {
            (least.min(at), most.max(at))
        });
        Some(Self {
            n: rows.iter().map(|row| row.n).sum(),
            median_s,
            min_s: rows.iter().filter_map(|row| row.min_s).reduce(f64::min),
            p99_s: rows.iter().filter_map(|row| row.p99_s).reduce(f64::max),
            cpu_s: middle(|row| row.cpu_s),
            raw_s: middle(|row| row.raw_s),
            peak_bytes: rows.iter().filter_map(|row| row.peak_bytes).max(),
            spread: median_s
                .filter(|median| *median > 0.0)
                .map(|median| (most - least) / median),
            ..last
        })
    }
}

#[cfg(test)]
impl Row {
    /// A row for tests, whose repetitions all took `seconds`.
    pub fn example(suite: &'static str, name: &str, driver: &str, size: u64, seconds: f64) -> Self {
        let labels = EngineLabels {
            driver: driver.to_owned(),
            policy: "uncached",
            durability: "relaxed",
        };
        let mut row = Self::new(suite, name, labels, size);
        (row.n, row.median_s, row.min_s) = (1, Some(seconds), Some(seconds));
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(median: f64, min: f64) -> Row {
        let mut row = Row::example("scale", "get", "memory", 10, median);
        row.min_s = Some(min);
        row
    }

    #[test]
    fn no_ratio_is_shown_if_the_noise_is_larger() {
        let noisy = row(10.0, 8.0);
        assert_eq!(noisy.factor(Some(10.0), Some(9.0)), "~1");
        assert_eq!(noisy.factor(Some(10.0), Some(5.0)), "x2.00");
        assert_eq!(noisy.factor(Some(10.0), None), "-");
    }

    #[test]
    fn repeated_rows_are_merged_with_their_spread() {
        let merged = Row::merged(&[row(2.0, 1.0), row(1.0, 0.5), row(1.5, 1.2)]).expect("rows");
        assert_eq!(
            (merged.n, merged.median_s, merged.min_s),
            (3, Some(1.5), Some(0.5))
        );
        assert!(merged.noise() > 0.66, "{}", merged.noise());
        assert!(Row::merged(&[]).is_none());
    }
}
