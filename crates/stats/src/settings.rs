//! The settings of a store of statistics, stored in it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::limits::GRANULARITIES_MAX;
use crate::{Calendar, Error, ErrorKind, Granularity, Result, Weekday};

/// Whether writes are listed under [`crate::SYSTEM_METRIC`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemMetric {
    /// Each write is listed: twice as many rows are written.
    #[default]
    Written,
    /// Nothing is listed.
    Off,
}

/// The settings of a store of statistics, stored in it.
///
/// Time zone and first day of weeks cannot be changed once they are stored, because the buckets depend on
/// them. The other settings can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// An IANA time zone.
    pub time_zone: String,
    /// The first day of weeks.
    pub week_begins: Weekday,
    /// The granularities of the buckets that each write goes to.
    pub granularities: BTreeSet<Granularity>,
    /// How many seconds after their end buckets are kept; granularities without an entry are kept for ever.
    pub retention: BTreeMap<Granularity, u64>,
    /// Whether writes are listed.
    pub system: SystemMetric,
}

impl Default for Settings {
    /// UTC, weeks from Monday, the seven default granularities, no expiry, listed.
    fn default() -> Self {
        Self {
            time_zone: "UTC".to_owned(),
            week_begins: Weekday::Monday,
            granularities: Granularity::usual().into_iter().collect(),
            retention: BTreeMap::new(),
            system: SystemMetric::Written,
        }
    }
}

impl Settings {
    /// The calendar of the settings.
    pub fn calendar(&self) -> Result<Calendar> {
        Calendar::new(&self.time_zone, self.week_begins)
    }

    /// Checks the limits and the time zone.
    pub(crate) fn check(&self) -> Result<()> {
        let count = self.granularities.len();
        if count > GRANULARITIES_MAX {
            return Err(Error::limit(format!(
                "{count} granularities exceed the limit of {GRANULARITIES_MAX}"
            )));
        }
        if count == 0 {
            return Err(Error::argument(
                "a store of statistics needs at least one granularity",
            ));
        }
        self.calendar().map(drop)
    }

    /// Rejects settings under which buckets would begin at other times than under `stored`.
    pub(crate) fn check_against(&self, stored: &Self) -> Result<()> {
        let same = self.calendar()?.zone_name() == stored.calendar()?.zone_name()
            && self.week_begins == stored.week_begins;
        if same {
            return Ok(());
        }
        let message = format!(
            "this store has the time zone {} with weeks from {}, and cannot be changed to {} with weeks from {}: create another store for those",
            stored.time_zone, stored.week_begins, self.time_zone, self.week_begins
        );
        Err(Error::new(ErrorKind::Settings, message))
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let stored = Stored {
            time_zone: self.time_zone.clone(),
            week_begins: self.week_begins.to_string(),
            granularities: self.granularities.iter().map(ToString::to_string).collect(),
            retention: self
                .retention
                .iter()
                .map(|(g, s)| (g.to_string(), *s))
                .collect(),
            is_listed: self.system == SystemMetric::Written,
        };
        let row = SettingsRow {
            format: FORMAT,
            settings: Some(stored),
        };
        serde_json::to_vec(&row).map_err(|error| Error::argument(error.to_string()))
    }

    /// The row of a store with the default settings, which may still be configured.
    pub(crate) fn format_only() -> Vec<u8> {
        format!(r#"{{"format":{FORMAT}}}"#).into_bytes()
    }

    /// Whether a row of the settings prevents earlier versions from opening the store.
    pub(crate) fn has_current_format(row: &[u8]) -> Result<bool> {
        Ok(SettingsRow::decode(row)?.format == FORMAT)
    }

    /// Decodes the row; `None` if it has the format only.
    pub(crate) fn decode(row: &[u8]) -> Result<Option<Self>> {
        let Some(stored) = SettingsRow::decode(row)?.settings else {
            return Ok(None);
        };
        let granularities = stored.granularities.iter().map(|text| text.parse());
        let retention = stored
            .retention
            .iter()
            .map(|(text, &seconds)| Ok((text.parse()?, seconds)));
        Ok(Some(Self {
            week_begins: stored.week_begins.parse()?,
            granularities: granularities.collect::<Result<_>>()?,
            retention: retention.collect::<Result<_>>()?,
            system: if stored.is_listed {
                SystemMetric::Written
            } else {
                SystemMetric::Off
            },
            time_zone: stored.time_zone,
        }))
    }
}

/// The format of the rows of buckets. The first one had a row for each bucket and no number here; its versions require
/// the member `system` of the settings, and do not open a store without it.
const FORMAT: u32 = 2;

#[derive(Serialize)]
struct SettingsRow {
    format: u32,
    #[serde(flatten)]
    settings: Option<Stored>,
}

impl SettingsRow {
    fn decode(row: &[u8]) -> Result<Self> {
        let corrupt = |error| Error::corrupt(format!("the stored settings: {error}"));
        let Format { format } = serde_json::from_slice(row).map_err(corrupt)?;
        let format = format.unwrap_or(1);
        if format > FORMAT {
            let message = format!(
                "the statistics have the format {format}, this program supports {FORMAT}; use the program that wrote them"
            );
            return Err(Error::new(ErrorKind::Settings, message));
        }
        let settings = match row == Settings::format_only() {
            true => None,
            false => Some(serde_json::from_slice(row).map_err(corrupt)?),
        };
        Ok(Self { format, settings })
    }
}

#[derive(Deserialize)]
struct Format {
    format: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Stored {
    time_zone: String,
    week_begins: String,
    granularities: Vec<String>,
    retention: BTreeMap<String, u64>,
    #[serde(rename = "list-active", alias = "system")]
    is_listed: bool,
}
