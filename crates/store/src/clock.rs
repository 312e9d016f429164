//! Time sources, passed in as a value.
//!
//! Three sources are used, each for its purpose: the **wall clock** for times that people read (it may be set
//! forward and back); a **version** for the order of commits; the **monotonic clock** and the machine's
//! **uptime** for durations, because they are never set.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

// Order is the version's, because a wall clock can be set: docs/decisions/0054.
/// Tolerance for wall clocks: the clocks of machines that share a store may differ by this much, and a step
/// of at most this size is ignored. One minute.
pub const CLOCK_STEP_MAX: Duration = Duration::from_secs(60);

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time of an event now that follows an event at `last`: not before `last`, unless `last` is further
    /// in the future than [`CLOCK_STEP_MAX`]. Then that clock was wrong, and its time must not spread.
    pub(crate) fn after(self, last: Self) -> Self {
        match last.is_ahead_of(self) {
            true => self,
            false => self.max(last),
        }
    }

    /// Whether this is later than `now` by more than [`CLOCK_STEP_MAX`].
    pub fn is_ahead_of(self, now: Self) -> bool {
        self.since(now) > CLOCK_STEP_MAX
    }

    /// The time from an earlier moment to this one; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The moment `time` later.
    pub(crate) fn plus(self, time: Duration) -> Self {
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(time))
    }

    /// The moment `time` earlier.
    pub(crate) fn minus(self, time: Duration) -> Self {
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(time))
    }
}

/// How long a machine has been running: the same for all its processes, and not settable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uptime {
    /// The boot that it is counted from: a random id.
    pub boot: [u8; BOOT_BYTES],
    /// The time since that boot, including suspended time.
    pub elapsed: Duration,
}

/// Bytes of a boot id.
pub const BOOT_BYTES: usize = 16;

/// The store's source of time.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The time since some moment that stays fixed while this value lives. By default that of [`Self::now`],
    /// for clocks that are never set.
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.now().0)
    }

    /// How long the machine has been running, if available.
    fn uptime(&self) -> Option<Uptime> {
        None
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// The origin of the monotonic clock: its first use in this process.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn monotonic(&self) -> Duration {
        START.elapsed()
    }

    fn uptime(&self) -> Option<Uptime> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?;
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let seconds = uptime.split_whitespace().next()?.parse().ok()?;
        Some(Uptime {
            boot: boot.to_be_bytes(),
            elapsed: Duration::try_from_secs_f64(seconds).ok()?,
        })
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        UNIX_EPOCH + std::time::Duration::from_millis(time.0)
    }
}

/// Detects steps of the wall clock by comparing it with the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct ClockWatch {
    last_reading: Mutex<Option<ClockReading>>,
}

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    /// When the wall clock was last set, or first read.
    steady_since: Timestamp,
    last: Timestamp,
    last_monotonic: Duration,
}

impl ClockWatch {
    /// The time now. A step of the wall clock is logged.
    pub fn now(&self, clock: &dyn Clock) -> Timestamp {
        self.observe(clock).last
    }

    /// Since when the wall clock has had no step, as far as this process has observed.
    pub fn steady_since(&self, clock: &dyn Clock) -> Timestamp {
        self.observe(clock).steady_since
    }

    fn observe(&self, clock: &dyn Clock) -> ClockReading {
        let mut last = self.last_reading.lock();
        let (now, monotonic) = (clock.now(), clock.monotonic());
        let reading = match *last {
            None => ClockReading {
                steady_since: now,
                last: now,
                last_monotonic: monotonic,
            },
            Some(before) => {
                let expected = before
                    .last
                    .plus(monotonic.saturating_sub(before.last_monotonic));
                let is_set = now.is_ahead_of(expected) || expected.is_ahead_of(now);
                if is_set {
                    log_clock_step(expected, now);
                }
                ClockReading {
                    steady_since: match is_set {
                        true => now,
                        false => before.steady_since,
                    },
                    last: now,
                    last_monotonic: monotonic,
                }
            }
        };
        *last = Some(reading);
        reading
    }
}

fn log_clock_step(expected: Timestamp, now: Timestamp) {
    let (ahead, back) = (now.since(expected).as_secs(), expected.since(now).as_secs());
    match ahead {
        0 => tracing::warn!(seconds = back, "the clock of this machine was set back"),
        _ => tracing::warn!(seconds = ahead, "the clock of this machine was set ahead"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ManualClock {
        wall: Mutex<u64>,
        monotonic: Mutex<u64>,
    }

    impl Clock for ManualClock {
        fn now(&self) -> Timestamp {
            Timestamp(*self.wall.lock())
        }

        fn monotonic(&self) -> Duration {
            Duration::from_millis(*self.monotonic.lock())
        }
    }

    #[test]
    fn a_time_too_far_in_the_future_does_not_spread() {
        let now = Timestamp(1_000_000);
        for (last, expected) in [
            (0, 1_000_000),
            (1_000_000, 1_000_000),
            (1_000_001, 1_000_001),
            (1_060_000, 1_060_000),
            (1_060_001, 1_000_000),
            (u64::MAX, 1_000_000),
        ] {
            assert_eq!(now.after(Timestamp(last)), Timestamp(expected), "{last}");
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_is_detected_and_drift_is_ignored() {
        let clock = ManualClock {
            wall: Mutex::new(5_000_000),
            monotonic: Mutex::new(7),
        };
        let watch = ClockWatch::default();
        let advance = |wall: i64, monotonic: u64| {
            let mut now = clock.wall.lock();
            *now = now.saturating_add_signed(wall);
            drop(now);
            *clock.monotonic.lock() += monotonic;
            watch.steady_since(&clock).0
        };
        assert_eq!(advance(0, 0), 5_000_000);
        assert_eq!(advance(3_600_000, 3_590_000), 5_000_000);
        assert_eq!(advance(3_600_000, 3_610_000), 5_000_000);
        assert_eq!(advance(61_000, 0), 12_261_000);
        assert_eq!(advance(1_000, 1_000), 12_261_000);
        assert_eq!(advance(-61_000, 0), 12_201_000);
    }

    #[test]
    fn the_system_clock_has_an_uptime() {
        let first = SystemClock.uptime().expect("Linux has an uptime");
        let second = SystemClock.uptime().expect("Linux has an uptime");
        assert_eq!(first.boot, second.boot);
        assert!(first.elapsed <= second.elapsed);
    }
}
