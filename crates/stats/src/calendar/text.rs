//! Times as people write them.

use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, Zoned};

use super::Calendar;
use crate::{Error, Result};

impl Calendar {
    /// Reads a time: with an offset or `Z` (`2025-03-05T12:00:30Z`), with a time zone
    /// (`2025-03-05T12:00[America/New_York]`, RFC 9557), or as the clock of the calendar's time zone
    /// shows it (`2025-03-05T12:00`, or `2025-03-05` for the start of the day). Of a time that comes
    /// twice the first is meant.
    pub fn read_time(&self, text: &str) -> Result<Timestamp> {
        if text.contains('[') {
            let zoned = text.parse::<Zoned>();
            return zoned.map(|zoned| zoned.timestamp()).map_err(|error| {
                let shown: String = text.chars().take(60).collect();
                Error::syntax(format!("{shown:?} is no time: {error}"))
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
                "{shown:?} is no time; write one such as 2025-03-05T12:00:30Z or 2025-03-05"
            ))
        })
    }

    /// A time as RFC 3339 writes it, with the offset that the time zone has then; in UTC where that is
    /// no whole number of minutes, as of old local mean times, which RFC 3339 cannot write.
    pub fn show_time(&self, at: Timestamp) -> String {
        let offset = self.zone.to_offset(at);
        match offset.seconds() % 60 {
            0 => at.display_with_offset(offset).to_string(),
            _ => at.to_string(),
        }
    }
}
