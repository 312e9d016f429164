//! The settings of the audit log, stored in the key space so that all processes have the same.

use std::time::Duration;

use espalier_keyspace::{Batch, Driver, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::error::AuditError;
use super::operation::AuditKind;
use super::record::AuditEntry;
use super::sequence::settings_key;
use crate::merge_patch;

/// The format of the stored settings. Settings of a later format are not read.
pub const SETTINGS_FORMAT: u64 = 1;

/// The default maximum number of records. The oldest are deleted first.
pub const AUDIT_RECORDS_MAX: u64 = 1_000_000;

/// The default maximum age of records: 400 days, a year and some weeks to review it.
pub const AUDIT_AGE_MAX: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Whether records are made, and when they are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditMode {
    /// Nothing is recorded.
    Off,
    /// Records are committed by a thread, at most [`crate::audit::AUDIT_DELAY_MAX`] after they were
    /// appended. If the process is killed, the records of that time are lost. If the engine fails, records
    /// wait in a bounded queue; the operations that they describe are not affected.
    #[default]
    Relaxed,
    /// A record is committed when the call that appends it returns, so before the response, and is as durable
    /// as the driver is configured to be. If the engine fails, the call fails.
    Strict,
}

/// The kinds of records that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AuditFilter {
    /// [`AuditKind::Reads`]. Off by default.
    pub reads: bool,
    /// [`AuditKind::Writes`].
    pub writes: bool,
    /// [`AuditKind::Logins`].
    pub logins: bool,
    /// [`AuditKind::Denials`].
    pub denials: bool,
    /// [`AuditKind::Operations`].
    pub operations: bool,
}

impl Default for AuditFilter {
    fn default() -> Self {
        Self {
            reads: false,
            writes: true,
            logins: true,
            denials: true,
            operations: true,
        }
    }
}

impl AuditFilter {
    /// Whether records of this kind are made.
    pub fn includes(&self, kind: AuditKind) -> bool {
        match kind {
            AuditKind::Reads => self.reads,
            AuditKind::Writes => self.writes,
            AuditKind::Logins => self.logins,
            AuditKind::Denials => self.denials,
            AuditKind::Operations => self.operations,
        }
    }

    /// Whether the entry is recorded: it is of an included kind, or is a denial and denials are included.
    pub fn includes_entry(&self, entry: &AuditEntry) -> bool {
        self.includes(entry.operation.kind())
            || (self.denials && entry.is_of_kind(AuditKind::Denials))
    }
}

/// The settings of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AuditSettings {
    /// The format of these settings, [`SETTINGS_FORMAT`].
    pub format: u64,
    /// Whether records are made, and when they are durable.
    pub mode: AuditMode,
    /// The kinds of records that are made.
    pub filter: AuditFilter,
    /// The maximum number of records.
    pub records_max: u64,
    /// The maximum age of records in seconds.
    pub age_seconds_max: u64,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            format: SETTINGS_FORMAT,
            mode: AuditMode::default(),
            filter: AuditFilter::default(),
            records_max: AUDIT_RECORDS_MAX,
            age_seconds_max: AUDIT_AGE_MAX.as_secs(),
        }
    }
}

impl AuditSettings {
    /// Reads the settings; the defaults if none were stored.
    ///
    /// # Errors
    /// Those of the engine, and [`AuditError::Settings`].
    pub fn load(snapshot: &dyn Snapshot) -> Result<Self, AuditError> {
        let Some(stored) = snapshot.get(&settings_key())? else {
            return Ok(Self::default());
        };
        let settings: Self = serde_json::from_slice(&stored)
            .map_err(|error| AuditError::Settings(error.to_string()))?;
        match settings.format > SETTINGS_FORMAT {
            true => Err(AuditError::Settings(format!(
                "they have format {}, and this version supports {SETTINGS_FORMAT}",
                settings.format
            ))),
            false => Ok(settings),
        }
    }

    /// These settings, changed by a JSON Merge Patch (RFC 7396) of their JSON.
    ///
    /// # Errors
    /// [`AuditError::Settings`] for members or values that there are not.
    pub fn patched(&self, patch: &Json) -> Result<Self, AuditError> {
        let invalid = |message: String| AuditError::InvalidSettings(message);
        let settings = merge_patch::patched(self, patch).map_err(invalid)?;
        if settings.format != self.format {
            return Err(invalid("the format cannot be changed".to_owned()));
        }
        if settings.records_max == 0 || settings.age_seconds_max == 0 {
            let message =
                "records-max and age-seconds-max are at least 1; the mode off records nothing";
            return Err(invalid(message.to_owned()));
        }
        Ok(settings)
    }

    /// Stores the settings. Open logs of all processes follow within
    /// [`crate::audit::MAINTENANCE_INTERVAL`].
    ///
    /// # Errors
    /// Those of the engine.
    pub fn store(&self, driver: &dyn Driver) -> Result<(), AuditError> {
        let mut batch = Batch::new();
        batch.put(settings_key(), serde_json::to_vec(self)?);
        driver.commit(batch)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_changes_what_it_names_and_nothing_unknown() {
        let settings = AuditSettings::default();
        let changed = settings
            .patched(&json!({"mode": "strict", "filter": {"reads": true}}))
            .unwrap();
        assert_eq!(changed.mode, AuditMode::Strict);
        assert!(changed.filter.reads && changed.filter.writes);
        assert_eq!(changed.records_max, AUDIT_RECORDS_MAX);
        for wrong in [
            json!({"mode": "loud"}),
            json!({"filter": {"dreams": true}}),
            json!({"records-max": 0}),
            json!({"records-max": null}),
            json!({"format": 2}),
            json!({"colour": "red"}),
            json!([]),
        ] {
            assert!(settings.patched(&wrong).is_err(), "{wrong}");
        }
    }
}
