//! The clock that decides when buckets and request names expire.
//!
//! If a wall clock were set forward, everything would expire, and what is removed cannot be restored.
//! Therefore a step forward counts only after a day in which the clock has continued from there: until then,
//! time continues from before the step. Time that no process has observed is a step as well: a process reads
//! the trusted time from the store, where it is stored about once an hour.

use parking_lot::Mutex;

use crate::calendar::seconds;
use crate::limits::{CLOCK_NOTE_SECONDS, CLOCK_STEP_SECONDS, CLOCK_TRIAL_SECONDS};
use crate::number::{put_varint, take_varint};
use crate::{Clock, Error, Result, Timestamp};

/// The trusted time, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// The last time that is trusted.
    until: i64,
    /// The time to which the clock was set at that moment, if that step does not count yet.
    step_to: Option<i64>,
}

impl Known {
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
    fn at(self, wall: i64, gap: i64) -> Self {
        let known = match self.step_to {
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
        match known.step_to.is_none() && gap > CLOCK_STEP_SECONDS && wall > known.until {
            true => Self {
                step_to: Some(wall),
                ..known
            },
            false => Self {
                until: wall.max(known.until),
                ..known
            },
        }
    }

    /// The trusted time for a wall clock time.
    fn counts(self, wall: i64) -> i64 {
        match self.step_to {
            None => wall.min(self.until),
            Some(step_to) => wall.min(self.until + (wall - step_to).max(0)),
        }
    }
}

/// The last readings of this process.
#[derive(Clone, Copy, Debug)]
struct Seen {
    known: Known,
    wall: i64,
    monotonic: i64,
    /// The value in the store.
    stored: Option<Known>,
}

/// The retention clock of a process.
#[derive(Debug)]
pub(crate) struct RetentionClock {
    seen: Mutex<Seen>,
}

impl RetentionClock {
    /// Starts from the stored trusted time.
    pub(crate) fn new(clock: &dyn Clock, stored: Option<Known>) -> Self {
        let (wall, monotonic) = look(clock);
        let known = match stored {
            None => Known {
                until: wall,
                step_to: None,
            },
            // It is stored once an hour, so this much may have been observed since.
            Some(stored) => stored.at(wall, wall - stored.until - CLOCK_NOTE_SECONDS),
        };
        Self {
            seen: Mutex::new(Seen {
                known,
                wall,
                monotonic,
                stored,
            }),
        }
    }

    /// The time that decides about expiry.
    pub(crate) fn now(&self, clock: &dyn Clock) -> Timestamp {
        let mut seen = self.seen.lock();
        let (wall, monotonic) = look(clock);
        let gap = (wall - seen.wall) - (monotonic - seen.monotonic);
        let before = seen.known.step_to;
        seen.known = seen.known.at(wall, gap);
        if let (None, Some(_)) = (before, seen.known.step_to) {
            tracing::warn!(
                seconds = gap,
                "the clock was set forward; nothing expires by it for a day"
            );
        }
        (seen.wall, seen.monotonic) = (wall, monotonic);
        Timestamp::from_second(seen.known.counts(wall)).unwrap_or(Timestamp::MIN)
    }

    /// The value to store with the next commit, if it differs from the stored one enough.
    pub(crate) fn to_store(&self) -> Option<Known> {
        let Seen { known, stored, .. } = *self.seen.lock();
        let is_due = stored.is_none_or(|stored| {
            stored.step_to != known.step_to || known.until - stored.until >= CLOCK_NOTE_SECONDS
        });
        is_due.then_some(known)
    }

    /// Records that a value was stored.
    pub(crate) fn is_stored(&self, known: Known) {
        self.seen.lock().stored = Some(known);
    }
}

/// Both clocks, in seconds.
fn look(clock: &dyn Clock) -> (i64, i64) {
    let monotonic = i64::try_from(clock.monotonic().as_secs()).unwrap_or(i64::MAX);
    (seconds(clock.now()), monotonic)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const YEAR: i64 = 365 * 86_400;

    #[derive(Default)]
    struct Told(Mutex<(i64, u64)>);

    impl Told {
        fn goes_on(&self, seconds: u64) {
            let mut time = self.0.lock();
            time.0 += seconds as i64;
            time.1 += seconds;
        }

        fn is_set(&self, by: i64) {
            self.0.lock().0 += by;
        }
    }

    impl Clock for Told {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(self.0.lock().0).expect("a time")
        }

        fn monotonic(&self) -> Duration {
            Duration::from_secs(self.0.lock().1)
        }
    }

    fn told() -> Told {
        let told = Told::default();
        told.is_set(50 * YEAR);
        told
    }

    fn now(retention: &RetentionClock, clock: &Told) -> i64 {
        seconds(retention.now(clock)) - 50 * YEAR
    }

    #[test]
    fn a_step_ahead_counts_after_a_day_and_not_where_it_is_taken_back() {
        let clock = told();
        let retention = RetentionClock::new(&clock, None);
        clock.goes_on(40 * 86_400);
        assert_eq!(now(&retention, &clock), 40 * 86_400);
        clock.is_set(10 * YEAR);
        assert_eq!(now(&retention, &clock), 40 * 86_400);
        clock.goes_on(3600);
        assert_eq!(now(&retention, &clock), 40 * 86_400 + 3600);
        clock.is_set(-10 * YEAR);
        assert_eq!(now(&retention, &clock), 40 * 86_400 + 3600);
        clock.goes_on(3600);
        assert_eq!(now(&retention, &clock), 40 * 86_400 + 7200);
        clock.is_set(10 * YEAR);
        now(&retention, &clock);
        clock.goes_on(86_400);
        assert_eq!(now(&retention, &clock), 41 * 86_400 + 7200 + 10 * YEAR);
    }

    #[test]
    fn what_the_next_process_reads_tells_a_step_too() {
        let clock = told();
        let first = RetentionClock::new(&clock, None);
        now(&first, &clock);
        let stored = first.to_store().expect("the first is written");
        first.is_stored(stored);
        assert_eq!(first.to_store(), None);
        let stored = Known::decode(&stored.encode()).expect("it decodes");
        clock.goes_on(60);
        clock.is_set(10 * YEAR);
        let second = RetentionClock::new(&clock, Some(stored));
        assert_eq!(now(&second, &clock), 0);
        let stored = second.to_store().expect("a step is written");
        clock.goes_on(60);
        let third = RetentionClock::new(&clock, Some(stored));
        assert_eq!(now(&third, &clock), 60);
        clock.is_set(-10 * YEAR);
        let fourth = RetentionClock::new(&clock, Some(stored));
        assert_eq!(now(&fourth, &clock), 120);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_nothing_older() {
        let clock = told();
        let retention = RetentionClock::new(&clock, None);
        clock.is_set(-YEAR);
        assert_eq!(now(&retention, &clock), -YEAR);
        clock.goes_on(60);
        assert_eq!(now(&retention, &clock), 60 - YEAR);
    }
}
