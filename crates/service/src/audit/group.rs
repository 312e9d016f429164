//! Committing groups of records.

use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Driver, Error as EngineError, ErrorKind, Result as EngineResult};

use super::sequence::count_key;

/// Maximum number of records that are committed together.
pub const GROUP_RECORDS_MAX: usize = 1000;

/// Maximum bytes of rows that are committed together, except that one row is always taken.
pub const GROUP_BYTES_MAX: usize = 1 << 20;

/// How often a commit in [`crate::audit::AuditMode::Strict`] is tried.
pub const STRICT_TRIES_MAX: u32 = 3;

/// The wait before the second try; it doubles with each further one.
const STRICT_RETRY_WAIT: Duration = Duration::from_millis(20);

/// A row of a record.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

impl Row {
    pub(super) fn bytes(&self) -> usize {
        self.key.len() + self.value.len()
    }
}

/// What is known of earlier commits of the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// No commit of these rows was applied.
    NotApplied,
    /// One may have been applied, see [`ErrorKind::OutcomeUnknown`].
    Unknown,
}

impl Earlier {
    /// What is known after a commit failed with `error`.
    pub(super) fn after(self, error: &EngineError) -> Self {
        match error.kind() {
            ErrorKind::OutcomeUnknown => Self::Unknown,
            _ => self,
        }
    }
}

/// The number of records that the engine can commit in one transaction.
pub(super) fn records_max(driver: &dyn Driver) -> usize {
    let operations_max = driver.capability().operations_max;
    // One operation is left for the count, one for the precondition.
    operations_max.map_or(GROUP_RECORDS_MAX, |max| {
        max.saturating_sub(2).clamp(1, GROUP_RECORDS_MAX)
    })
}

/// Commits rows together, in one commit. Has no precondition, so it cannot conflict with any other commit.
pub(super) fn commit(driver: &dyn Driver, rows: &[Row], earlier: Earlier) -> EngineResult<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let mut batch = Batch::new();
    batch.reserve(rows.len() + 1);
    if earlier == Earlier::Unknown {
        // Keys are unique. If the first one exists, then the earlier commit was applied, and the count must
        // not be changed again.
        batch.require(first.key.clone(), None);
    }
    for row in rows {
        batch.put(row.key.clone(), row.value.clone());
    }
    batch.add(count_key(), rows.len() as i64);
    match driver.commit(batch) {
        Ok(_) => Ok(()),
        Err(error) if earlier == Earlier::Unknown && error.kind() == ErrorKind::Conflict => Ok(()),
        Err(error) => Err(error),
    }
}

/// Like [`commit`], and retries errors that may be temporary, for [`STRICT_TRIES_MAX`] tries in total.
pub(super) fn commit_with_retries(driver: &dyn Driver, rows: &[Row]) -> EngineResult<()> {
    let mut earlier = Earlier::NotApplied;
    let mut wait = STRICT_RETRY_WAIT;
    for _ in 1..STRICT_TRIES_MAX {
        match commit(driver, rows, earlier) {
            Err(error) if error.is_retryable() || error.kind() == ErrorKind::OutcomeUnknown => {
                earlier = earlier.after(&error);
            }
            result => return result,
        }
        thread::sleep(wait);
        wait *= 2;
    }
    commit(driver, rows, earlier)
}
