//! Times as people write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

use super::Calendar;
use crate::{Error, Result};

impl Calendar {
    /// Reads a time: with an offset or `Z` (`2025-03-05T12:00:30Z`), or as the clock of the time
    /// zone shows it (`2025-03-05T12:00`, or `2025-03-05` for the start of the day). Of a time
    /// that comes twice the first is meant.
    pub fn read_time(&self, text: &str) -> Result<Timestamp> {
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

    /// A time as RFC 3339 writes it, with the offset that the time zone has then.
    pub fn show_time(&self, at: Timestamp) -> String {
        at.display_with_offset(self.zone.to_offset(at)).to_string()
    }
}
