//! Times as text.

use espalier_store::Timestamp;

/// RFC 3339 in UTC, with milliseconds.
pub(crate) fn time_text(time: Timestamp) -> String {
    let milliseconds = i64::try_from(time.0).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(milliseconds) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => jiff::Timestamp::MAX.to_string(),
    }
}
