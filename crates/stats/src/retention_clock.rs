//! The clock that decides when buckets and request names expire.
//!
//! If a wall clock were set forward, everything would expire, and what is removed cannot be restored.
//! Therefore a step forward counts only after a day in which the clock has continued from there: until then,
//! time continues from before the step. Time that no process has observed is a step as well: a process reads
//! the trusted time from the store, where it is stored about once an hour.

use parking_lot::Mutex;

use crate::calendar::seconds;
use crate::limits::{CLOCK_STEP_SECONDS, CLOCK_STORE_SECONDS, CLOCK_TRIAL_SECONDS};
use crate::number::{put_varint, take_varint};
use crate::{Clock, Error, Result, Timestamp};

/// The trusted time, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrustedTime {
    /// The last time that is trusted.
    until: i64,
    /// The time to which the clock was set at that moment, if that step does not count yet.
    step_to: Option<i64>,
}

impl TrustedTime {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for seconds in [self.until, self.step_to.unwrap_or(0)] {
            put_varint(&mut bytes, u128::from(seconds.max(0).unsigned_abs()));
        }
        bytes
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self> {
        let mut number = || -> Result<i64> {
            let number = i64::try_from(take_varint(&mut bytes)?);
            number.map_err(|_| Error::corrupt("the stored time is out of range"))
        };
        let (until, step_to) = (number()?, number()?);
        Ok(Self {
            until,
            step_to: (step_to > 0).then_some(step_to),
        })
    }

    /// The trusted time when the wall clock shows `wall`, after a gap of `gap` seconds that no process
    /// observed, or that did not pass.
    fn advance(self, wall: i64, gap: i64) -> Self {
        let trusted = match self.step_to {
            // The clock was set back, so the step was wrong.
            Some(step_to) if wall < step_to - CLOCK_STEP_SECONDS => Self {
                step_to: None,
                ..self
            },
            Some(step_to) if wall - step_to >= CLOCK_TRIAL_SECONDS => Self {
                until: wall.max(self.until),
                step_to: None,
            },
            Some(_) => return self,
            None => self,
        };
        match trusted.step_to.is_none() && gap > CLOCK_STEP_SECONDS && wall > trusted.until {
            true => Self {
                step_to: Some(wall),
                ..trusted
            },
            false => Self {
                until: wall.max(trusted.until),
                ..trusted
            },
        }
    }

    /// The trusted time for a wall clock time.
    fn at_wall_time(self, wall: i64) -> i64 {
        match self.step_to {
            None => wall.min(self.until),
            Some(step_to) => wall.min(self.until + (wall - step_to).max(0)),
        }
    }
}

/// The last readings of this process.
#[derive(Clone, Copy, Debug)]
struct ClockReadings {
    trusted: TrustedTime,
    wall: i64,
    monotonic: i64,
    /// The value in the store.
    stored: Option<TrustedTime>,
}

/// The retention clock of a process.
#[derive(Debug)]
pub(crate) struct RetentionClock {
    readings: Mutex<ClockReadings>,
}

impl RetentionClock {
    /// Starts from the stored trusted time.
    pub(crate) fn new(clock: &dyn Clock, stored: Option<TrustedTime>) -> Self {
        let (wall, monotonic) = read_clocks(clock);
        let trusted = match stored {
            None => TrustedTime {
                until: wall,
                step_to: None,
            },
            // It is stored once an hour, so this much may have been observed since.
            Some(stored) => stored.advance(wall, wall - stored.until - CLOCK_STORE_SECONDS),
        };
        Self {
            readings: Mutex::new(ClockReadings {
                trusted,
                wall,
                monotonic,
                stored,
            }),
        }
    }

    /// The time that decides about expiry.
    pub(crate) fn now(&self, clock: &dyn Clock) -> Timestamp {
        let mut readings = self.readings.lock();
        let (wall, monotonic) = read_clocks(clock);
        let gap = (wall - readings.wall) - (monotonic - readings.monotonic);
        let before = readings.trusted.step_to;
        readings.trusted = readings.trusted.advance(wall, gap);
        if let (None, Some(_)) = (before, readings.trusted.step_to) {
            tracing::warn!(
                seconds = gap,
                "the clock was set forward; nothing expires by it for a day"
            );
        }
        (readings.wall, readings.monotonic) = (wall, monotonic);
        Timestamp::from_second(readings.trusted.at_wall_time(wall)).unwrap_or(Timestamp::MIN)
    }

    /// The value to store with the next commit, if it differs from the stored one enough.
    pub(crate) fn to_store(&self) -> Option<TrustedTime> {
        let ClockReadings {
            trusted, stored, ..
        } = *self.readings.lock();
        let is_due = stored.is_none_or(|stored| {
            stored.step_to != trusted.step_to || trusted.until - stored.until >= CLOCK_STORE_SECONDS
        });
        is_due.then_some(trusted)
    }

    /// Records that a value was stored.
    pub(crate) fn set_stored(&self, trusted: TrustedTime) {
        self.readings.lock().stored = Some(trusted);
    }
}

/// Both clocks, in seconds.
fn read_clocks(clock: &dyn Clock) -> (i64, i64) {
    let monotonic = i64::try_from(clock.monotonic().as_secs()).unwrap_or(i64::MAX);
    (seconds(clock.now()), monotonic)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const YEAR: i64 = 365 * 86_400;

    #[derive(Default)]
    struct ManualClock(Mutex<(i64, u64)>);

    impl ManualClock {
        fn advance_by(&self, seconds: u64) {
            let mut time = self.0.lock();
            time.0 += seconds as i64;
            time.1 += seconds;
        }

        fn step_by(&self, by: i64) {
            self.0.lock().0 += by;
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(self.0.lock().0).expect("a time")
        }

        fn monotonic(&self) -> Duration {
            Duration::from_secs(self.0.lock().1)
        }
    }

    fn manual_clock() -> ManualClock {
        let manual_clock = ManualClock::default();
        manual_clock.step_by(50 * YEAR);
        manual_clock
    }

    fn now(retention: &RetentionClock, clock: &ManualClock) -> i64 {
        seconds(retention.now(clock)) - 50 * YEAR
    }

    #[test]
    fn a_step_forward_counts_after_a_day_unless_it_is_reverted() {
        let clock = manual_clock();
        let retention = RetentionClock::new(&clock, None);
        clock.advance_by(40 * 86_400);
        assert_eq!(now(&retention, &clock), 40 * 86_400);
        clock.step_by(10 * YEAR);
        assert_eq!(now(&retention, &clock), 40 * 86_400);
        clock.advance_by(3600);
        assert_eq!(now(&retention, &clock), 40 * 86_400 + 3600);
        clock.step_by(-10 * YEAR);
        assert_eq!(now(&retention, &clock), 40 * 86_400 + 3600);
        clock.advance_by(3600);
        assert_eq!(now(&retention, &clock), 40 * 86_400 + 7200);
        clock.step_by(10 * YEAR);
        now(&retention, &clock);
        clock.advance_by(86_400);
        assert_eq!(now(&retention, &clock), 41 * 86_400 + 7200 + 10 * YEAR);
    }

    #[test]
    fn the_next_process_detects_a_step_from_the_stored_time() {
        let clock = manual_clock();
        let first = RetentionClock::new(&clock, None);
        now(&first, &clock);
        let stored = first.to_store().expect("the first is written");
        first.set_stored(stored);
        assert_eq!(first.to_store(), None);
        let stored = TrustedTime::decode(&stored.encode()).expect("it decodes");
        clock.advance_by(60);
        clock.step_by(10 * YEAR);
        let second = RetentionClock::new(&clock, Some(stored));
        assert_eq!(now(&second, &clock), 0);
        let stored = second.to_store().expect("a step is written");
        clock.advance_by(60);
        let third = RetentionClock::new(&clock, Some(stored));
        assert_eq!(now(&third, &clock), 60);
        clock.step_by(-10 * YEAR);
        let fourth = RetentionClock::new(&clock, Some(stored));
        assert_eq!(now(&fourth, &clock), 120);
    }

    #[test]
    fn a_step_back_expires_nothing() {
        let clock = manual_clock();
        let retention = RetentionClock::new(&clock, None);
        clock.step_by(-YEAR);
        assert_eq!(now(&retention, &clock), -YEAR);
        clock.advance_by(60);
        assert_eq!(now(&retention, &clock), 60 - YEAR);
    }
}
