//! Replaces patterns that libyang rejects but [`translate`] supports. libyang checks patterns with PCRE2, which lacks
//! `\i`, `\c`, `\P{IsBasicLatin}` and large repetitions of XSD.
//!
//! Such a pattern is replaced in the text for libyang by one that matches every value, or no value for `invert-match`,
//! so that libyang accepts every default. The copied type has the original pattern, and defaults are checked against
//! that. Texts without such a pattern are passed to libyang unchanged.

use std::borrow::Cow;
use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::ffi::accepts_pattern;
use crate::schema::pattern::translate;
use crate::schema::statement::{Statement, Statements};

/// The patterns that are replaced in the texts of one compilation.
#[derive(Default)]
pub(super) struct ReplacedPatterns {
    /// Whether each pattern must be replaced.
    rejected: RefCell<FxHashMap<String, bool>>,
    /// The original patterns, by their replacements.
    originals: RefCell<FxHashMap<String, Box<str>>>,
}

impl ReplacedPatterns {
    /// The text for libyang. Line numbers are unchanged.
    pub(super) fn replace<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if memchr::memmem::find(text.as_bytes(), b"pattern").is_none() {
            return text.into();
        }
        let mut statements = Statements::new(text);
        let mut replaced = String::new();
        let mut end = 0;
        let mut is_yang_1 = true;
        while let Some(statement) = statements.next() {
            if statement.keyword == "yang-version" {
                is_yang_1 = statement.argument.as_deref() == Some("1");
            }
            if statement.keyword != "pattern" {
                continue;
            }
            let argument = &text[statement.argument_bytes.clone()];
            let Some(pattern) = string_value(argument, is_yang_1) else {
                continue;
            };
            if self.is_rejected(&pattern) {
                let is_inverted = has_invert_match(&statements, &statement);
                replaced.push_str(&text[end..statement.argument_bytes.start]);
                replaced.push_str(&format!("'{}'", self.replacement(&pattern, is_inverted)));
                let lines = memchr::memchr_iter(b'\n', argument.as_bytes()).count();
                replaced.extend(std::iter::repeat_n('\n', lines));
                end = statement.argument_bytes.end;
            }
        }
        if end == 0 {
            return text.into();
        }
        replaced.push_str(&text[end..]);
        replaced.into()
    }

    /// The pattern in the model for a pattern in libyang.
    pub(super) fn original(&self, pattern: &str) -> Box<str> {
        let originals = self.originals.borrow();
        originals
            .get(pattern)
            .cloned()
            .unwrap_or_else(|| pattern.into())
    }

    fn is_rejected(&self, pattern: &str) -> bool {
        if let Some(&rejected) = self.rejected.borrow().get(pattern) {
            return rejected;
        }
        let is_rejected = !accepts_pattern(pattern) && translate(pattern).is_ok();
        let mut rejected = self.rejected.borrow_mut();
        rejected.insert(pattern.to_owned(), is_rejected);
        is_rejected
    }

    fn replacement(&self, pattern: &str, is_inverted: bool) -> String {
        let mut originals = self.originals.borrow_mut();
        let number = originals.len();
        let replacement = if is_inverted {
            format!("[^\\s\\S]replaced-{number}")
        } else {
            format!("[\\s\\S]*|replaced-{number}")
        };
        originals.insert(replacement.clone(), pattern.into());
        replacement
    }
}

/// Returns whether the last pattern has `modifier invert-match`.
fn has_invert_match(after: &Statements<'_>, pattern: &Statement<'_>) -> bool {
    let inside = after.clone().take_while(|next| next.depth > pattern.depth);
    inside
        .filter(|next| next.keyword == "modifier")
        .any(|next| next.argument.as_deref() == Some("invert-match"))
}

/// The value of an argument (RFC 7950 §6.1.3); `None` if libyang may read it differently: multi-line double-quoted
/// strings, and escapes that YANG 1.1 does not have.
fn string_value(argument: &str, is_yang_1: bool) -> Option<String> {
    let mut value = String::new();
    let mut rest = argument;
    loop {
        let quote = rest.chars().next()?;
        rest = match quote {
            '\'' => {
                let (inside, after) = rest[1..].split_once('\'')?;
                value.push_str(inside);
                after
            }
            '"' => push_double_quoted(&rest[1..], is_yang_1, &mut value)?,
            _ => return Some(argument.to_owned()),
        };
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(value);
        }
        // Comments between the parts are too rare to be supported.
        rest = rest.strip_prefix('+')?.trim_start();
    }
}

/// Appends the content of a double-quoted string; returns the text after the closing quote.
fn push_double_quoted<'t>(text: &'t str, is_yang_1: bool, value: &mut String) -> Option<&'t str> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some(&text[at + 1..]),
            '\n' => return None,
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                escaped @ ('"' | '\\') => value.push(escaped),
                other if is_yang_1 => value.extend(['\\', other]),
                _ => return None,
            },
            _ => value.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_their_values() {
        let cases = [
            (r"'\i\c*'", false, Some(r"\i\c*")),
            (r#""\\i" + '\c*'"#, false, Some(r"\i\c*")),
            (r#""\i\c*""#, true, Some(r"\i\c*")),
            (r#""\i\c*""#, false, None),
            ("\"a\n b\"", true, None),
            ("a*", false, Some("a*")),
            (r#""a\"b""#, false, Some("a\"b")),
            ("'a", false, None),
        ];
        for (argument, is_yang_1, expected) in cases {
            assert_eq!(
                string_value(argument, is_yang_1).as_deref(),
                expected,
                "{argument}"
            );
        }
    }

    #[test]
    fn only_patterns_rejected_by_libyang_are_replaced_and_lines_are_kept() {
        let patterns = ReplacedPatterns::default();
        let plain = "module a { leaf x { type string { pattern '[a-z]*'; } } }";
        assert_eq!(patterns.replace(plain), plain);
        let text = "module a {\n yang-version 1.1;\n leaf x { type string { pattern '\\i'\n + '\\c*' { modifier\n invert-match; } pattern '('; } } }";
        let replaced = patterns.replace(text);
        assert!(replaced.contains("[^\\s\\S]replaced-0"), "{replaced}");
        assert!(replaced.contains("pattern '('"), "{replaced}");
        assert_eq!(replaced.lines().count(), text.lines().count());
        assert_eq!(&*patterns.original("[^\\s\\S]replaced-0"), "\\i\\c*");
        assert_eq!(&*patterns.original("[a-z]*"), "[a-z]*");
    }
}
