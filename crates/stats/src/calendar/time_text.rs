//! Parsing and formatting of times.

use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, Zoned};

use super::Calendar;
use crate::{Error, Result};

impl Calendar {
    /// Parses a time: with an offset or `Z` (`2025-03-05T12:00:30Z`), with a time zone
    /// (`2025-03-05T12:00[America/New_York]`, RFC 9557), or as local time in the calendar's time zone
    /// (`2025-03-05T12:00`, or `2025-03-05` for the start of the day). An ambiguous local time is the first
    /// of the two.
    pub fn read_time(&self, text: &str) -> Result<Timestamp> {
        if text.contains('[') {
            let zoned = text.parse::<Zoned>();
            return zoned.map(|zoned| zoned.timestamp()).map_err(|error| {
                let shown: String = text.chars().take(60).collect();
                Error::syntax(format!("{shown:?} is not a time: {error}"))
            });
        }
        if let Ok(at) = text.parse() {
            return Ok(at);
        }
        let local = text.parse::<DateTime>().ok();
        let local = local.or_else(|| text.parse::<Date>().ok().map(|date| date.at(0, 0, 0, 0)));
        let at = local.and_then(|local| self.zone.to_timestamp(local).ok());
        at.ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            Error::syntax(format!(
                "{shown:?} is not a time; write one such as 2025-03-05T12:00:30Z or 2025-03-05"
            ))
        })
    }

    /// Formats a time as in RFC 3339, with the offset of the time zone at that time; in UTC if the offset is
    /// not a whole number of minutes, as in old local mean times, because RFC 3339 cannot represent it.
    pub fn show_time(&self, at: Timestamp) -> String {
        let offset = self.zone.to_offset(at);
        match offset.seconds() % 60 {
            0 => at.display_with_offset(offset).to_string(),
            _ => at.to_string(),
        }
    }
}
