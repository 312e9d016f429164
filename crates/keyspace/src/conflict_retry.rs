//! Retrying after conflicts with other writers.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};

// A lock in the engine would outlive a process that dies, so writers retry: docs/decisions/0007.
/// How long a conflicting change is retried.
pub const CONFLICT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a transaction is retried optimistically before it runs inside an engine write, where other
/// writers wait if the engine serializes writes. On other engines it is retried as before, for at most
/// [`CONFLICT_TIMEOUT`] in total.
pub const OPTIMISTIC_CONFLICTS_MAX: u32 = 8;

/// The longest wait between two tries, in milliseconds. Short, so that a writer does not lose again because
/// it waits too long.
const WAIT_MS_MAX: u64 = 32;

/// Number of tries until the wait reaches its maximum.
const TRIES_GROWING: u32 = 6;

/// The retries of one change after conflicts. Waits are random, so that competing writers get out of step
/// and each of them succeeds eventually.
#[derive(Clone, Copy, Debug)]
pub struct ConflictRetry {
    deadline: Instant,
    tries: u32,
}

impl ConflictRetry {
    /// Starts before the first try, with a limit of [`CONFLICT_TIMEOUT`].
    pub fn new() -> Self {
        Self::with_timeout(CONFLICT_TIMEOUT)
    }

    /// No retry: a conflict is returned.
    pub fn never() -> Self {
        Self::with_timeout(Duration::ZERO)
    }

    /// Starts before the first try, with the given time limit.
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            deadline: Instant::now() + timeout,
            tries: 0,
        }
    }

    /// Number of tries that ended in a conflict.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// Waits before the next try, after a conflict. Fails with [`ErrorKind::Conflict`] when the time limit
    /// is exceeded.
    pub fn wait_after_conflict(&mut self) -> Result<(), Error> {
        if Instant::now() >= self.deadline {
            let message = format!(
                "the change conflicted with other writers {} times in a row; try again",
                self.tries + 1
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let most_ms = WAIT_MS_MAX >> TRIES_GROWING.saturating_sub(self.tries + 1);
        self.tries += 1;
        if most_ms > 0 {
            let chance = RandomState::new().hash_one(self.tries);
            thread::sleep(Duration::from_micros(chance % (most_ms * 1000)));
        }
        Ok(())
    }
}

impl Default for ConflictRetry {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_end_at_the_timeout() {
        let mut contention = ConflictRetry::with_timeout(Duration::from_millis(50));
        let begun = Instant::now();
        let error = loop {
            if let Err(error) = contention.wait_after_conflict() {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.is_retryable() && begun.elapsed() >= Duration::from_millis(50));
        assert!(contention.tries() > 1);
    }
}
