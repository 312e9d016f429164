//! The settings of an event log, stored with it, so that all processes have the same.

use std::time::Duration;

use espalier_keyspace::{Batch, Snapshot};
use serde::{Deserialize, Serialize};

use super::record::LogKeys;
use crate::error::{Error, Result};
use crate::tree::tree::Tree;

/// The format of the stored settings. Settings of a later format are not read.
pub const EVENT_SETTINGS_FORMAT: u64 = 1;

/// The default maximum number of records.
pub const EVENT_RECORDS_MAX: u64 = 100_000;

/// The default maximum size of all records: 256 MiB.
pub const EVENT_LOG_BYTES_MAX: u64 = 256 << 20;

/// The default maximum age of records: 30 days.
pub const EVENT_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The settings of an event log. Of the limits, the oldest records are deleted first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct EventSettings {
    /// The format of these settings, [`EVENT_SETTINGS_FORMAT`].
    pub format: u64,
    /// The maximum number of records.
    pub records_max: u64,
    /// The maximum number of bytes of all records.
    pub bytes_max: u64,
    /// The maximum age of records in seconds. Older ones are deleted when the next record is appended.
    pub age_seconds_max: u64,
    /// Whether each module with notifications has an event stream of its own.
    pub module_streams: bool,
    /// Whether the notifications of the server itself are recorded: the beginnings and ends of sessions, and the phases
    /// of confirmed commits. Otherwise they are delivered to the receivers of the process, and cannot be replayed.
    pub record_sessions: bool,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self {
            format: EVENT_SETTINGS_FORMAT,
            records_max: EVENT_RECORDS_MAX,
            bytes_max: EVENT_LOG_BYTES_MAX,
            age_seconds_max: EVENT_AGE_MAX.as_secs(),
            module_streams: false,
            record_sessions: false,
        }
    }
}

impl EventSettings {
    pub(super) fn read(snapshot: &dyn Snapshot, keys: LogKeys) -> Result<Self> {
        let Some(stored) = snapshot.get(&keys.settings())? else {
            return Ok(Self::default());
        };
        let unreadable = |reason: String| {
            Error::corrupt(format!(
                "the settings of the event log are not readable: {reason}"
            ))
        };
        let settings: Self =
            serde_json::from_slice(&stored).map_err(|error| unreadable(error.to_string()))?;
        match settings.format > EVENT_SETTINGS_FORMAT {
            true => Err(unreadable(format!("they have format {}", settings.format))),
            false => Ok(settings),
        }
    }
}

impl Tree {
    /// The settings of the event log of the anchor.
    ///
    /// # Errors
    /// Those of the engine; settings that this version cannot read.
    pub fn event_settings(&self) -> Result<EventSettings> {
        let snapshot = self.store().driver().snapshot()?;
        EventSettings::read(&*snapshot, LogKeys(self.id()))
    }

    /// Stores the settings of the event log of the anchor. Limits are applied when the next record is appended.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn set_event_settings(&self, settings: &EventSettings) -> Result<()> {
        let text =
            serde_json::to_vec(settings).map_err(|error| Error::corrupt(error.to_string()))?;
        let mut batch = Batch::new();
        batch.require_all([self.anchor_precondition()]);
        batch.put(LogKeys(self.id()).settings(), text);
        match self.store().driver().commit(batch) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.check_anchor(&error)?;
                Err(error.into())
            }
        }
    }
}
