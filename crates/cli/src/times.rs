//! Times and durations as text.

use std::time::Duration;

use espalier_service::notifications::parse_time;
use espalier_store::{Clock, SystemClock, Timestamp};

use espalier_terminal::{Failure, Result};

const DAY_SECONDS: u64 = 24 * 3600;

/// Formats a time according to RFC 3339, in UTC: `2026-11-21T23:16:17.250Z`.
pub fn rfc3339(time: Timestamp) -> String {
    let (seconds, milliseconds) = (time.0 / 1000, time.0 % 1000);
    let (year, month, day) = date(seconds / DAY_SECONDS);
    let of_day = seconds % DAY_SECONDS;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// The year, month and day of a day number counted from 1970-01-01. Years are counted from March, so that the leap
/// day is the last of its year; 400 years have 146,097 days.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leaps = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// Parses a duration such as `90s`, `15m`, `12h` or `30d`.
pub fn parse_duration(text: &str) -> Result<Duration> {
    let failed = || {
        Failure::usage(format!("{text} is no span of time"))
            .hint("write a number and s, m, h or d, as in 30d")
    };
    let unit = text.chars().last().ok_or_else(failed)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => DAY_SECONDS,
        _ => return Err(failed()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| failed())?;
    number
        .checked_mul(seconds)
        .map(Duration::from_secs)
        .ok_or_else(failed)
}

/// Parses a time in RFC 3339, or a span before now, as in 7d.
pub fn past_time(text: &str) -> Result<Timestamp> {
    if let Ok(span) = parse_duration(text) {
        let span = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        return Ok(Timestamp(SystemClock.now().0.saturating_sub(span)));
    }
    parse_time(text).ok_or_else(|| {
        Failure::usage(format!("{text} is no time"))
            .hint("write it as in 2026-11-28T12:00:00Z, or a span before now, as in 7d")
    })
}

/// A number of seconds in the largest unit that has no rest.
pub fn span_text(seconds: u64) -> String {
    let units = [(DAY_SECONDS, "d"), (60 * 60, "h"), (60, "m")];
    let unit = units
        .into_iter()
        .find(|(unit, _)| seconds.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "s"));
    format!("{}{name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_formats_calendar_dates() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_795_303_017_250, "2026-11-21T23:16:57.250Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (time, text) in cases {
            assert_eq!(rfc3339(Timestamp(time)), text);
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse_duration("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(parse_duration("2d").unwrap(), Duration::from_secs(172_800));
        for wrong in [
            "",
            "d",
            "5",
            "5w",
            "-1h",
            "1.5h",
            "é",
            "99999999999999999999d",
        ] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
