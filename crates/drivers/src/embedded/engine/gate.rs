//! Transactions go in, any number at once; whoever remaps the file has to be alone.
//!
//! Going in is one atomic addition, as every snapshot pays for it. Not a lock of the standard
//! kind: a pass is kept in a snapshot, and moves between threads with it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Set while somebody is alone inside.
const ALONE: usize = 1 << (usize::BITS - 1);

/// Set while somebody who wants to be alone keeps others from coming in.
const CLOSING: usize = 1 << (usize::BITS - 2);

/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_micros(50);

/// How long others may still come in while somebody waits to be alone.
const OPEN_FOR: Duration = Duration::from_millis(50);

/// Counts who is inside.
#[derive(Debug, Default)]
pub(in crate::embedded) struct Gate {
    state: AtomicUsize,
}

/// The gate did not become free in time.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::embedded) struct Busy;

impl Gate {
    /// Goes in, waiting only for one who is alone. To be matched with [`Self::leave`].
    pub(in crate::embedded) fn enter(&self) {
        while self.state.fetch_add(1, Ordering::Acquire) & (ALONE | CLOSING) != 0 {
            self.leave();
            thread::sleep(PAUSE);
        }
    }

    pub(in crate::embedded) fn leave(&self) {
        self.state.fetch_sub(1, Ordering::Release);
    }

    /// Runs `act` while nobody is inside. Others may still come in for a moment; then they wait
    /// too, in case there never is a time without somebody. A thread that is inside and wants to
    /// come in once more is why the wait has an end.
    pub(in crate::embedded) fn alone<T>(
        &self,
        patience: Duration,
        act: impl FnOnce() -> T,
    ) -> Result<T, Busy> {
        let start = Instant::now();
        loop {
            let closing = match start.elapsed() > OPEN_FOR {
                // Each time: another thread that wanted to be alone takes the mark away when it was, or gives up.
                true => {
                    self.state.fetch_or(CLOSING, Ordering::Relaxed);
                    CLOSING
                }
                false => 0,
            };
            let free =
                self.state
                    .compare_exchange(closing, ALONE, Ordering::Acquire, Ordering::Relaxed);
            if free.is_ok() {
                break;
            }
            if start.elapsed() > patience {
                self.state.fetch_and(!CLOSING, Ordering::Relaxed);
                return Err(Busy);
            }
            thread::sleep(PAUSE);
        }
        let result = act();
        self.state.fetch_and(!ALONE, Ordering::Release);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_waits_for_those_inside() {
        let gate = Gate::default();
        gate.enter();
        let patience = Duration::from_millis(20);
        assert_eq!(gate.alone(patience, || ()), Err(Busy));
        gate.enter();
        gate.leave();
        gate.leave();
        assert_eq!(gate.alone(patience, || 7), Ok(7));
        gate.enter();
        gate.leave();
    }

    /// The first one who was alone took away the mark by which the second one kept others out, and the second one
    /// waited for it in vain: a map did not grow, and a commit was refused.
    #[test]
    fn two_who_wait_to_be_alone_both_are() {
        let gate = Gate::default();
        gate.enter();
        thread::scope(|scope| {
            let alone = || gate.alone(Duration::from_secs(10), || ());
            let both = [scope.spawn(alone), scope.spawn(alone)];
            while gate.state.load(Ordering::Relaxed) & CLOSING == 0 {
                thread::sleep(PAUSE);
            }
            // By then the other one keeps others out too.
            thread::sleep(OPEN_FOR);
            gate.leave();
            for one in both {
                assert_eq!(one.join().expect("no panic"), Ok(()));
            }
        });
    }

    #[test]
    fn nobody_is_inside_with_one_who_is_alone() {
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
                let seen = gate.alone(Duration::from_secs(10), || inside.load(Ordering::SeqCst));
                assert_eq!(seen, Ok(0));
            }
        });
    }
}
