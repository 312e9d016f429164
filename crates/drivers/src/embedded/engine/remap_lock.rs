//! A gate that any number of transactions enter, and that is held exclusively while the file is remapped.
//!
//! Entering is one atomic addition, as every snapshot needs it. It is not a standard lock: the guard is
//! stored in a snapshot, and moves between threads with it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Set while the gate is held exclusively.
const EXCLUSIVE: usize = 1 << (usize::BITS - 1);

/// Set while a thread that waits for exclusive access keeps others out.
const CLOSING: usize = 1 << (usize::BITS - 2);

/// Wait between two attempts.
const PAUSE: Duration = Duration::from_micros(50);

/// How long others may still enter while a thread waits for exclusive access.
const ENTRY_GRACE: Duration = Duration::from_millis(50);

/// Counts the entries.
#[derive(Debug, Default)]
pub(in crate::embedded) struct Gate {
    state: AtomicUsize,
}

/// The gate did not become free in time.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::embedded) struct Busy;

impl Gate {
    /// Enters, waiting only for exclusive access. Must be matched with [`Self::leave`].
    pub(in crate::embedded) fn enter(&self) {
        while self.state.fetch_add(1, Ordering::Acquire) & (EXCLUSIVE | CLOSING) != 0 {
            self.leave();
            thread::sleep(PAUSE);
        }
    }

    pub(in crate::embedded) fn leave(&self) {
        self.state.fetch_sub(1, Ordering::Release);
    }

    /// Runs `act` with exclusive access. Others may still enter for a moment; then they wait too, in case
    /// the gate is never free otherwise. The wait is limited, as a thread that is inside may want to enter
    /// again.
    pub(in crate::embedded) fn exclusive<T>(
        &self,
        timeout: Duration,
        act: impl FnOnce() -> T,
    ) -> Result<T, Busy> {
        let start = Instant::now();
        loop {
            let closing = match start.elapsed() > ENTRY_GRACE {
                // Set on every attempt, as another thread clears the mark when it gets exclusive access or
                // gives up.
                true => {
                    self.state.fetch_or(CLOSING, Ordering::Relaxed);
                    CLOSING
                }
                false => 0,
            };
            let free = self.state.compare_exchange(
                closing,
                EXCLUSIVE,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if free.is_ok() {
                break;
            }
            if start.elapsed() > timeout {
                self.state.fetch_and(!CLOSING, Ordering::Relaxed);
                return Err(Busy);
            }
            thread::sleep(PAUSE);
        }
        let result = act();
        self.state.fetch_and(!EXCLUSIVE, Ordering::Release);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusive_access_waits_for_entries() {
        let gate = Gate::default();
        gate.enter();
        let timeout = Duration::from_millis(20);
        assert_eq!(gate.exclusive(timeout, || ()), Err(Busy));
        gate.enter();
        gate.leave();
        gate.leave();
        assert_eq!(gate.exclusive(timeout, || 7), Ok(7));
        gate.enter();
        gate.leave();
    }

    /// The first thread with exclusive access cleared the mark of the second one, which then waited in
    /// vain: the map did not grow, and a commit was rejected.
    #[test]
    fn two_waiting_threads_both_get_exclusive_access() {
        let gate = Gate::default();
        gate.enter();
        thread::scope(|scope| {
            let alone = || gate.exclusive(Duration::from_secs(10), || ());
            let both = [scope.spawn(alone), scope.spawn(alone)];
            while gate.state.load(Ordering::Relaxed) & CLOSING == 0 {
                thread::sleep(PAUSE);
            }
            // By then the other thread keeps others out too.
            thread::sleep(ENTRY_GRACE);
            gate.leave();
            for one in both {
                assert_eq!(one.join().expect("no panic"), Ok(()));
            }
        });
    }

    #[test]
    fn no_thread_is_inside_during_exclusive_access() {
        const ROUNDS: usize = 200;
        let (gate, inside) = (Gate::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS * 10 {
                        gate.enter();
                        inside.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        gate.leave();
                    }
                });
            }
            for _ in 0..ROUNDS {
                let seen =
                    gate.exclusive(Duration::from_secs(10), || inside.load(Ordering::SeqCst));
                assert_eq!(seen, Ok(0));
            }
        });
    }
}
