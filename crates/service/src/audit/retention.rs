//! Deleting the oldest records, in bounded steps.

use std::borrow::Cow;
use std::time::Duration;

use espalier_keyspace::{Batch, Direction, Driver, Snapshot};
use espalier_store::Timestamp;

use super::error::AuditError;
use super::sequence::{AuditSequence, count_key, decode_count, prune_steps_key, records_range};
use super::settings::AuditSettings;

/// Maximum number of records that a step deletes.
pub const PRUNE_STEP_MAX: usize = 1000;

/// The operations and preconditions of a step besides the deletions: the counters of records and of steps, and
/// the precondition on the latter.
const STEP_OVERHEAD: usize = 3;

/// The result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The number of records that were deleted.
    pub records: usize,
    /// Whether the step ended at [`PRUNE_STEP_MAX`], and there may be more to delete.
    pub has_more: bool,
}

/// The number of stored records. Constant time: every append and every step changes a counter.
///
/// # Errors
/// Those of the engine.
pub fn stored_records(snapshot: &dyn Snapshot) -> Result<u64, AuditError> {
    Ok(decode_count(snapshot.get(&count_key())?.as_deref())?)
}

/// Deletes the oldest records that exceed the limits of the settings at the time `now`, at most
/// [`PRUNE_STEP_MAX`]. If another process deletes at the same time, does nothing.
///
/// # Errors
/// Those of the engine.
pub fn prune_step(
    driver: &dyn Driver,
    settings: &AuditSettings,
    now: Timestamp,
) -> Result<Pruned, AuditError> {
    let snapshot = driver.snapshot()?;
    let excess = stored_records(&*snapshot)?.saturating_sub(settings.records_max);
    let age = Duration::from_secs(settings.age_seconds_max).as_millis();
    let age = u64::try_from(age).unwrap_or(u64::MAX);
    let oldest_kept = AuditSequence::first_at(Timestamp(now.0.saturating_sub(age)));
    let step_max = step_max(driver);
    let mut batch = Batch::new();
    // Two processes select overlapping records, not always from the same first one, as records can arrive late.
    // The later step must not subtract them from the count again.
    let steps = snapshot.get(&prune_steps_key())?;
    batch.require(prune_steps_key(), steps.map(Cow::into_owned));
    batch.add(prune_steps_key(), 1);
    let mut pruned = Pruned::default();
    let mut cursor = snapshot.scan(&records_range(), Direction::Forward)?;
    while let Some((key, _)) = cursor.next()? {
        let is_too_old = AuditSequence::of_key(key).is_some_and(|key| key < oldest_kept);
        if !is_too_old && pruned.records as u64 >= excess {
            break;
        }
        if pruned.records == step_max {
            pruned.has_more = true;
            break;
        }
        batch.delete(key);
        pruned.records += 1;
    }
    drop(cursor);
    drop(snapshot);
    commit_step(driver, batch, pruned)
}

/// A step that the engine can execute in one transaction.
fn step_max(driver: &dyn Driver) -> usize {
    let operations_max = driver.capability().operations_max;
    operations_max.map_or(PRUNE_STEP_MAX, |max| {
        max.saturating_sub(STEP_OVERHEAD).clamp(1, PRUNE_STEP_MAX)
    })
}

fn commit_step(
    driver: &dyn Driver,
    mut batch: Batch,
    pruned: Pruned,
) -> Result<Pruned, AuditError> {
    if pruned.records == 0 {
        return Ok(pruned);
    }
    batch.add(count_key(), -(pruned.records as i64));
    match driver.commit(batch) {
        Ok(_) => Ok(pruned),
        Err(error) if error.is_conflict() => Ok(Pruned::default()),
        Err(error) => Err(error.into()),
    }
}
