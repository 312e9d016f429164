//! Checks the stored log.

use espalier_keyspace::{Direction, Snapshot};

use super::error::AuditError;
use super::record::AuditRecord;
use super::retention::stored_records;
use super::sequence::records_range;
use super::settings::AuditSettings;

/// Maximum number of unreadable records that a check lists. The others are counted.
pub const UNREADABLE_LISTED_MAX: usize = 100;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditCheck {
    /// The number of records.
    pub records: u64,
    /// What is wrong, one sentence each.
    pub problems: Vec<String>,
}

/// Reads every record, and compares their number with the counter.
///
/// # Errors
/// Those of the engine.
pub fn check(snapshot: &dyn Snapshot) -> Result<AuditCheck, AuditError> {
    let mut checked = AuditCheck::default();
    match AuditSettings::load(snapshot) {
        Ok(_) => {}
        Err(error @ AuditError::Settings(_)) => checked.problems.push(error.to_string()),
        Err(error) => return Err(error),
    }
    let mut unreadable = 0;
    let mut cursor = snapshot.scan(&records_range(), Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        checked.records += 1;
        if AuditRecord::decode(key, value).is_some() {
            continue;
        }
        unreadable += 1;
        if unreadable <= UNREADABLE_LISTED_MAX {
            let place = key.escape_ascii();
            checked.problems.push(format!(
                "the record at {place} cannot be read by this version"
            ));
        }
    }
    if unreadable > UNREADABLE_LISTED_MAX {
        let others = unreadable - UNREADABLE_LISTED_MAX;
        checked
            .problems
            .push(format!("{others} further records cannot be read"));
    }
    let counted = stored_records(snapshot)?;
    if counted != checked.records {
        let records = checked.records;
        checked.problems.push(format!(
            "there are {records} records, and the counter is {counted}"
        ));
    }
    Ok(checked)
}
