//! Escapes text in generated XML.

use std::borrow::Cow;

/// Escapes text for element content or a double-quoted attribute. Characters that XML does not allow become
/// U+FFFD.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\r' => escaped.push_str("&#13;"),
            other if needs_escape(other) => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

fn needs_escape(character: char) -> bool {
    matches!(
        character,
        '&' | '<' | '>' | '"' | '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\r' | '\u{E}'..='\u{1F}'
            | '\u{FFFE}' | '\u{FFFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_invalid_characters_are_replaced() {
        assert_eq!(escape("plain"), "plain");
        assert_eq!(escape("a<b & \"c\">"), "a&lt;b &amp; &quot;c&quot;&gt;");
        assert_eq!(escape("a\u{1}\r\n"), "a\u{FFFD}&#13;\n");
    }
}
