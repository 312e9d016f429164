//! Times as text.

use espalier_store::Timestamp;

/// Formats a time according to RFC 3339, in UTC with milliseconds: `2026-11-21T23:16:17.250Z`.
pub fn time_text(time: Timestamp) -> String {
    let milliseconds = i64::try_from(time.0).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(milliseconds) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => jiff::Timestamp::MAX.to_string(),
    }
}

/// A time as RFC 3339 has it; `None` for any other text, and for times before 1970.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_an_offset_are_parsed() {
        let time = parse_time("2026-11-28T13:00:00.250+01:00").expect("a time");
        assert_eq!(time_text(time), "2026-11-28T12:00:00.250Z");
        for wrong in [
            "",
            "yesterday",
            "2026-11-28",
            "2026-11-28T12:00:00",
            "1969-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }
}
