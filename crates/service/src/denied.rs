//! The counters of denied requests.

use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of denied requests since the start (RFC 8341 §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeniedCounters {
    /// `denied-operations`.
    pub operations: u64,
    /// `denied-data-writes`.
    pub data_writes: u64,
    /// `denied-notifications`.
    pub notifications: u64,
}

/// The counters.
#[derive(Default)]
pub(crate) struct DeniedRequests {
    operations: AtomicU64,
    data_writes: AtomicU64,
    notifications: AtomicU64,
}

impl DeniedRequests {
    pub fn count_operation(&self) {
        self.operations.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_data_write(&self) {
        self.data_writes.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_notifications(&self, count: usize) {
        self.notifications
            .fetch_add(count as u64, Ordering::Relaxed);
    }

    pub fn counters(&self) -> DeniedCounters {
        DeniedCounters {
            operations: self.operations.load(Ordering::Relaxed),
            data_writes: self.data_writes.load(Ordering::Relaxed),
            notifications: self.notifications.load(Ordering::Relaxed),
        }
    }
}
