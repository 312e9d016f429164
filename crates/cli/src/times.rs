//! Times and durations as text.

use std::time::Duration;

use espalier_service::notifications::parse_time;
use espalier_store::{Clock, SystemClock, Timestamp};
use espalier_yang::{DataError, ErrorTag};

use espalier_terminal::{Failure, Result};

const DAY_SECONDS: u64 = 24 * 3600;

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
        let message = format!("{text} is no time");
        Failure::usage(&message)
            .detail(DataError::new(ErrorTag::InvalidValue, message))
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
