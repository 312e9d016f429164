//! Counts of values in logarithmic bins.

/// The maximum relative error of a quantile.
const ACCURACY: f64 = 0.01;

/// The ratio of the upper and the lower boundary of a bin.
pub(super) const GAMMA: f64 = (1.0 + ACCURACY) / (1.0 - ACCURACY);

/// The bin of a value above 0.
fn bin(value: f64) -> i32 {
    // Between -37,222 and 37,222.
    (value.ln() / GAMMA.ln()).floor() as i32
}

/// The estimate for the values of a bin: within [`ACCURACY`] of each of them.
fn estimate(bin: i32) -> f64 {
    let scale = 2.0 * GAMMA / (1.0 + GAMMA);
    (f64::from(bin) * GAMMA.ln() + scale.ln()).exp()
}

// An array of 2,048 bins merges the smallest values: docs/decisions/0061.
/// The bins that have values, sorted, with their counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bins {
    counts: Vec<(i32, u64)>,
    total: u64,
}

impl Bins {
    /// Counts a value above 0.
    pub(super) fn observe(&mut self, value: f64) {
        self.add(bin(value), 1);
    }

    /// Adds to the count of a bin.
    pub(super) fn add(&mut self, bin: i32, count: u64) {
        self.total = self.total.saturating_add(count);
        if self.counts.last().is_none_or(|(last, _)| *last < bin) {
            self.counts.push((bin, count));
            return;
        }
        match self.counts.binary_search_by_key(&bin, |(index, _)| *index) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(count),
            Err(at) => self.counts.insert(at, (bin, count)),
        }
    }

    /// Adds the counts of other bins.
    pub(super) fn merge(&mut self, other: &Self) {
        let ours = std::mem::take(self);
        let mut ours = ours.counts.into_iter().peekable();
        for &(bin, count) in &other.counts {
            while let Some((index, count)) = ours.next_if(|(index, _)| *index <= bin) {
                self.add(index, count);
            }
            self.add(bin, count);
        }
        ours.for_each(|(bin, count)| self.add(bin, count));
    }

    /// The number of values.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The bins, sorted.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (i32, u64)> {
        self.counts.iter().copied()
    }

    /// The estimate of the value with a rank.
    pub(super) fn at_rank(&self, rank: u64) -> Option<f64> {
        let mut passed = 0;
        let found = self.counts.iter().find(|(_, count)| {
            passed += count;
            passed > rank
        });
        let last = self.counts.last();
        found.or(last).map(|(bin, _)| estimate(*bin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_of_a_bin_is_close_to_all_its_values() {
        let mut value = f64::MIN_POSITIVE;
        while value < f64::MAX / 1.5 {
            let error = (estimate(bin(value)) - value).abs() / value;
            assert!(error <= ACCURACY * 1.000_001, "{value}: {error}");
            value *= 1.37;
        }
    }

    #[test]
    fn merged_bins_equal_those_of_all_values() {
        let (mut one, mut other, mut all) = (Bins::default(), Bins::default(), Bins::default());
        for number in 1..500 {
            let value = f64::from(number * number % 317 + 1) * 1e-5;
            let part = if number % 3 == 0 {
                &mut one
            } else {
                &mut other
            };
            part.observe(value);
            all.observe(value);
        }
        one.merge(&other);
        one.merge(&Bins::default());
        assert_eq!(one, all);
    }
}
