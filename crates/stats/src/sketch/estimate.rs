//! The sketch and its quantiles.

use super::bins::Bins;
use crate::{Error, Number, Result};

/// A summary of observed values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    pub(super) above: Bins,
    pub(super) zeros: u64,
    /// The values below 0, without their sign.
    pub(super) below: Bins,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) sum: f64,
}

impl Default for Sketch {
    fn default() -> Self {
        Self {
            above: Bins::default(),
            zeros: 0,
            below: Bins::default(),
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: 0.0,
        }
    }
}

impl Sketch {
    /// Adds a value.
    pub fn observe(&mut self, value: Number) {
        let value = value.to_f64();
        if value > 0.0 {
            self.above.observe(value);
        } else if value < 0.0 {
            self.below.observe(-value);
        } else {
            self.zeros += 1;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
    }

    /// Adds the values of another sketch.
    pub fn merge(&mut self, other: &Self) {
        self.above.merge(&other.above);
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.below.merge(&other.below);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// The value below which the fraction `quantile` (0 to 1) of the values is; `None` if the sketch is
    /// empty.
    pub fn quantile(&self, quantile: f64) -> Result<Option<f64>> {
        if !(0.0..=1.0).contains(&quantile) {
            return Err(Error::argument(format!(
                "a quantile must be between 0 and 1, not {quantile}"
            )));
        }
        let (Some(min), Some(max)) = (self.min(), self.max()) else {
            return Ok(None);
        };
        if quantile == 0.0 || quantile == 1.0 {
            return Ok(Some(if quantile == 0.0 { min } else { max }));
        }
        let rank = (quantile * (self.count() as f64 - 1.0)) as u64;
        // An estimate is the middle of a bin, which may be outside the range of the values.
        let estimated = self.at_rank(rank);
        Ok(estimated.map(|value| value.max(min).min(max)))
    }

    fn at_rank(&self, rank: u64) -> Option<f64> {
        let below = self.below.total();
        if rank < below {
            return self.below.at_rank(below - rank - 1).map(|value| -value);
        }
        if rank - below < self.zeros {
            return Some(0.0);
        }
        self.above.at_rank(rank - below - self.zeros)
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.above
            .total()
            .saturating_add(self.zeros)
            .saturating_add(self.below.total())
    }

    /// The sum of the values, with floating-point rounding.
    pub fn sum(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.sum)
    }

    /// The smallest value.
    pub fn min(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.min)
    }

    /// The largest value.
    pub fn max(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.max)
    }
}
