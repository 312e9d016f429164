//! How whoever is overtaken goes on trying.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};

/// How long one goes on trying what others keep getting in the way of.
pub const CONFLICT_PATIENCE: Duration = Duration::from_secs(60);

/// The longest wait between two tries, in milliseconds: short, so that nobody who was overtaken often
/// is overtaken for waiting.
const WAIT_MS_MAX: u64 = 32;

/// Tries after which the wait is the longest.
const TRIES_GROWING: u32 = 6;

/// The tries of one change that others overtake. Who waits, and how long, is left to chance, so that
/// those who are in each other's way get out of it, and each comes first some time.
#[derive(Debug)]
pub struct Contention {
    deadline: Instant,
    tries: u32,
}

impl Contention {
    /// Before the first try, for [`CONFLICT_PATIENCE`].
    pub fn new() -> Self {
        Self::for_at_most(CONFLICT_PATIENCE)
    }

    /// Before the first try, for a time of one's own.
    pub fn for_at_most(patience: Duration) -> Self {
        Self {
            deadline: Instant::now() + patience,
            tries: 0,
        }
    }

    /// How many tries were overtaken.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// A try was overtaken: waits for the next one. It is an error, a conflict, when that was tried for
    /// too long.
    pub fn overtaken(&mut self) -> Result<(), Error> {
        if Instant::now() >= self.deadline {
            let message = format!(
                "others changed what this change is about, {} times in a row; try again",
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

impl Default for Contention {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_end_with_the_patience() {
        let mut contention = Contention::for_at_most(Duration::from_millis(50));
        let begun = Instant::now();
        let error = loop {
            if let Err(error) = contention.overtaken() {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.is_retryable() && begun.elapsed() >= Duration::from_millis(50));
        assert!(contention.tries() > 1);
    }
}
