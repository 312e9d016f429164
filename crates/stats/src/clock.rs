//! The time source, passed in as a value.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The source of the time that decides which buckets have expired, and which request names are forgotten.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The time since some moment that stays fixed while this value lives. By default that of [`Self::now`],
    /// for clocks that are never set.
    fn monotonic(&self) -> Duration {
        let milliseconds = self.now().as_millisecond();
        Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        START.elapsed()
    }
}

/// The origin of the monotonic clock: its first use in this process.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);
