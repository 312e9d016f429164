//! When updates are due.

use std::time::Duration;

use espalier_store::Timestamp;

use super::datastore_target::hundredths;

/// The ticks of periodic updates: each is a multiple of the period from the anchor. One that was missed is skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    period_ms: i128,
    anchor: Timestamp,
    /// The tick of the last update.
    last: Option<i128>,
}

impl Ticks {
    /// The first tick is now, or with an anchor the next one.
    pub fn new(period: u32, anchor: Option<Timestamp>, now: Timestamp) -> Self {
        let mut ticks = Self {
            period_ms: hundredths(period.max(1)).as_millis() as i128,
            anchor: anchor.unwrap_or(now),
            last: None,
        };
        if anchor.is_some() {
            ticks.last = Some(ticks.at(now));
        }
        ticks
    }

    fn at(&self, now: Timestamp) -> i128 {
        let distance = i128::from(now.0) - i128::from(self.anchor.0);
        distance.div_euclid(self.period_ms)
    }

    /// Whether an update is due; also after the clock was set.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.last != Some(self.at(now))
    }

    /// Notes that the update of now is made.
    pub fn done(&mut self, now: Timestamp) {
        self.last = Some(self.at(now));
    }

    /// The time until the next tick.
    pub fn left(&self, now: Timestamp) -> Duration {
        let next = (self.at(now) + 1) * self.period_ms + i128::from(self.anchor.0);
        let left = u64::try_from(next - i128::from(now.0));
        Duration::from_millis(left.unwrap_or_default())
    }
}

/// The time of the last update, for the dampening period.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dampening {
    last: Option<Timestamp>,
}

impl Dampening {
    /// Notes an update.
    pub fn sent(&mut self, now: Timestamp) {
        self.last = Some(now);
    }

    /// The time until an update is allowed. A clock that is set back does not make it longer than the period.
    pub fn left(&self, period: Duration, now: Timestamp) -> Duration {
        match self.last {
            Some(last) if now >= last => period.saturating_sub(now.since(last)),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_at_multiples_of_the_period_from_the_anchor() {
        let mut ticks = Ticks::new(100, Some(Timestamp(10_250)), Timestamp(5_000));
        for (now, is_due, left_ms) in [
            (5_000, false, 250),
            (5_249, false, 1),
            (5_250, true, 1000),
            (6_000, false, 250),
            // One is skipped.
            (7_300, true, 950),
            // The clock was set back.
            (5_900, true, 350),
        ] {
            let now = Timestamp(now);
            assert_eq!(ticks.is_due(now), is_due, "{now:?}");
            assert_eq!(ticks.left(now), Duration::from_millis(left_ms), "{now:?}");
            if is_due {
                ticks.done(now);
            }
            assert!(!ticks.is_due(now));
        }
        assert!(Ticks::new(100, None, Timestamp(5_000)).is_due(Timestamp(5_000)));
    }

    #[test]
    fn the_dampening_period_begins_with_an_update() {
        let period = Duration::from_secs(2);
        let mut dampening = Dampening::default();
        assert_eq!(dampening.left(period, Timestamp(9_000)), Duration::ZERO);
        dampening.sent(Timestamp(9_000));
        for (now, left_ms) in [(9_000, 2000), (10_500, 500), (11_000, 0), (8_000, 0)] {
            let left = dampening.left(period, Timestamp(now));
            assert_eq!(left, Duration::from_millis(left_ms), "{now}");
        }
    }
}
