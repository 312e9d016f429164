//! A bound on the password hashes that are computed at the same time: each needs a processor and megabytes of memory.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The maximum number of concurrent verifications.
pub const VERIFICATIONS_MAX: usize = 4;

/// How long a login waits for its verification to begin.
pub const VERIFICATION_WAIT_MAX: Duration = Duration::from_secs(5);

/// The maximum number of logins that wait; each blocks a thread.
pub const WAITING_MAX: usize = 64;

/// The slots of a server.
#[derive(Debug, Default)]
pub(super) struct VerificationSlots {
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
}

/// A slot; dropping it releases it.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a VerificationSlots);

impl VerificationSlots {
    /// Waits for a slot for at most [`VERIFICATION_WAIT_MAX`]; `None` if there is none, or if [`WAITING_MAX`] logins
    /// wait already.
    pub fn acquire(&self) -> Option<Slot<'_>> {
        self.acquire_within(VERIFICATION_WAIT_MAX)
    }

    pub fn acquire_within(&self, wait_max: Duration) -> Option<Slot<'_>> {
        let deadline = Instant::now() + wait_max;
        let mut state = self.state.lock();
        if state.running >= VERIFICATIONS_MAX && state.waiting >= WAITING_MAX {
            return None;
        }
        state.waiting += 1;
        while state.running >= VERIFICATIONS_MAX {
            if self.released.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.waiting -= 1;
        if state.running >= VERIFICATIONS_MAX {
            return None;
        }
        state.running += 1;
        Some(Slot(self))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
        self.0.released.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn slots_are_bounded_and_released() {
        let slots = VerificationSlots::default();
        let (running, highest) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 * VERIFICATIONS_MAX {
                scope.spawn(|| {
                    let slot = slots.acquire().unwrap();
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    highest.fetch_max(now, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(5));
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(slot);
                });
            }
        });
        assert!(highest.load(Ordering::SeqCst) <= VERIFICATIONS_MAX);
        let all: Vec<_> = (0..VERIFICATIONS_MAX).map(|_| slots.acquire()).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(slots.acquire_within(Duration::from_millis(1)).is_none());
        drop(all);
        assert!(slots.acquire_within(Duration::ZERO).is_some());
    }
}
