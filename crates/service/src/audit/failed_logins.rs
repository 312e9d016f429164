//! Limits the records of failed logins: any client that reaches the server could fill the log with them.

use espalier_store::Timestamp;
use parking_lot::Mutex;

/// Maximum number of failed logins that a process records in a minute. The next record has the number of the others.
pub const FAILED_LOGINS_RECORDED_MAX: u32 = 120;

/// The length of the interval in milliseconds.
const INTERVAL: u64 = 60_000;

/// Counts failed logins.
#[derive(Default)]
pub(crate) struct FailedLogins {
    interval: Mutex<Interval>,
}

#[derive(Default)]
struct Interval {
    start: Timestamp,
    recorded: u32,
    omitted: u64,
}

impl FailedLogins {
    /// Counts a failed login. If it is to be recorded, returns how many were not since the last one that was.
    pub(crate) fn count(&self, now: Timestamp) -> Option<u64> {
        let mut interval = self.interval.lock();
        if now.0.abs_diff(interval.start.0) >= INTERVAL {
            interval.start = now;
            interval.recorded = 0;
        }
        if interval.recorded == FAILED_LOGINS_RECORDED_MAX {
            interval.omitted += 1;
            return None;
        }
        interval.recorded += 1;
        Some(std::mem::take(&mut interval.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_recorded() {
        let failed = FailedLogins::default();
        let recorded = |now| failed.count(Timestamp(now));
        let first = (0..1000).filter(|now| recorded(1_000_000 + now).is_some());
        assert_eq!(first.count(), FAILED_LOGINS_RECORDED_MAX as usize);
        let others = 1000 - u64::from(FAILED_LOGINS_RECORDED_MAX);
        assert_eq!(recorded(1_000_000 + INTERVAL), Some(others));
        assert_eq!(recorded(1_000_001 + INTERVAL), Some(0));
    }
}
