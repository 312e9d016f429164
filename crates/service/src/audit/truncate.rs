//! Bounds of text in records.

/// The end of a text that was longer than its bound.
pub const TRUNCATION_MARK: &str = "…";

/// Shortens `text` to at most `bytes_max` bytes including [`TRUNCATION_MARK`], at a character boundary.
pub(super) fn truncate(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        let end = text.floor_char_boundary(bytes_max.saturating_sub(TRUNCATION_MARK.len()));
        text.truncate(end);
        text.push_str(TRUNCATION_MARK);
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_ends_with_a_mark_at_a_character_boundary() {
        for (text, expected) in [
            ("", ""),
            ("12345678", "12345678"),
            ("123456789", "12345…"),
            ("1234ßßßß", "1234…"),
            ("ßßßßß", "ßß…"),
        ] {
            let mut bounded = text.to_owned();
            truncate(&mut bounded, 8);
            assert_eq!(bounded, expected);
            assert!(bounded.len() <= 8);
        }
    }
}
