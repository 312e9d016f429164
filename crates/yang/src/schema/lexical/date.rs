//! Dates and times: RFC 6991 §3 and its successor.
//!
//! The canonical form in the RFC uses the time zone of the device. This crate knows no device, and changing the text
//! would surprise users (libyang converts it to the zone of the process that reads it). So dates and times are kept as
//! written; two texts for one moment are two values.

/// Returns whether the offset at the end of a text that matches its typedef's pattern is valid.
pub(super) fn has_possible_offset(text: &str) -> bool {
    let Some(at) = text.len().checked_sub("+00:00".len()) else {
        return true;
    };
    let offset = text
        .get(at..)
        .filter(|offset| offset.starts_with(['+', '-']));
    let Some((hours, minutes)) = offset.and_then(|offset| offset[1..].split_once(':')) else {
        return true;
    };
    let below = |digits: &str, limit: u8| digits.parse::<u8>().is_ok_and(|value| value < limit);
    below(hours, 24) && below(minutes, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_within_a_day() {
        for text in [
            "2024-02-29T23:30:00.50-01:00",
            "2024-01-01T00:00:00Z",
            "2024-01-01",
            "01:00:00+23:59",
        ] {
            assert!(has_possible_offset(text), "{text}");
        }
        assert!(!has_possible_offset("2024-01-01T00:00:00+24:00"));
        assert!(!has_possible_offset("01:00:00-00:60"));
    }
}
