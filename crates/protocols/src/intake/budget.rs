//! The space that all bodies share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number of bytes, and how many of them are in use.
#[derive(Debug)]
pub(super) struct Budget {
    bytes_max: u64,
    taken: AtomicU64,
}

/// Bytes of a budget, released on drop.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            taken: AtomicU64::new(0),
        })
    }

    /// A new, empty reservation.
    pub(super) fn reservation(self: &Arc<Self>) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

impl Reservation {
    /// Reserves more bytes. Returns false, and reserves nothing, if the budget does not suffice.
    #[must_use]
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        let bytes_max = self.budget.bytes_max;
        let taken = self
            .budget
            .taken
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |taken| {
                let taken = taken.checked_add(bytes)?;
                (taken <= bytes_max).then_some(taken)
            });
        if taken.is_ok() {
            self.bytes += bytes;
        }
        taken.is_ok()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_bytes_are_released() {
        let budget = Budget::new(10);
        let mut first = budget.reservation();
        assert!(first.grow(6) && first.grow(4) && !first.grow(1));
        let mut second = budget.reservation();
        assert!(!second.grow(1) && second.grow(0));
        drop(first);
        assert!(second.grow(10) && !second.grow(u64::MAX));
    }
}
