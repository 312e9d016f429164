//! Strings (RFC 7950 §9.4) and binary values (§9.8).

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::mismatch::Mismatch;
use crate::schema::{Intervals, Pattern};
use crate::value::Value;

/// The white space of C, which libyang skips around numbers and between bits.
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

/// Checks characters, length and patterns.
pub(super) fn check<'t>(
    text: &str,
    length: &'t Intervals,
    patterns: &'t [Pattern],
) -> Result<(), Mismatch<'t>> {
    check_characters(text)?;
    if !length.parts.is_empty() && !length.contain(character_count(text)) {
        return Err(Mismatch::Length(length));
    }
    let unsatisfied = patterns
        .iter()
        .find(|pattern| pattern.regex.is_match(text) == pattern.is_inverted);
    unsatisfied.map_or(Ok(()), |pattern| Err(Mismatch::Pattern(pattern)))
}

fn character_count(text: &str) -> i128 {
    let count = text.chars().count();
    i128::try_from(count).unwrap_or(i128::MAX)
}

/// RFC 7950 §14 (`yang-char`): no control characters but tab, line feed and carriage return, and no
/// noncharacters.
fn check_characters<'t>(text: &str) -> Result<(), Mismatch<'t>> {
    // One pass without branches: nearly no text has any. Noncharacters begin with 0xEF or more.
    let may_be_forbidden = text
        .bytes()
        .fold(false, |found, byte| found | !(b' '..0xef).contains(&byte));
    if !may_be_forbidden {
        return Ok(());
    }
    let found = text.chars().find(|&character| is_forbidden(character));
    found.map_or(Ok(()), |character| Err(Mismatch::Character(character)))
}

fn is_forbidden(character: char) -> bool {
    let is_control = character < ' ' && !matches!(character, '\t' | '\n' | '\r');
    let is_noncharacter =
        matches!(character, '\u{fdd0}'..='\u{fdef}') || u32::from(character) & 0xfffe == 0xfffe;
    is_control || is_noncharacter
}

/// Unused bits of the last digit may have any value, as in libyang; they are zero in the canonical form.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The number of digits per line of base64, in all lines but the last.
const BASE64_LINE: usize = 64;

pub(super) fn binary<'t>(text: &str, length: &'t Intervals) -> Result<Value, Mismatch<'t>> {
    let digits = without_line_breaks(text).ok_or(Mismatch::Malformed)?;
    let decoded = BASE64.decode(digits.as_bytes());
    let bytes = decoded.map_err(|_| Mismatch::Malformed)?;
    let count = i128::try_from(bytes.len()).unwrap_or(i128::MAX);
    if !length.contain(count) {
        return Err(Mismatch::Length(length));
    }
    Ok(Value::Binary(bytes.into()))
}

/// Returns `None` if a line other than the last does not have [`BASE64_LINE`] digits.
fn without_line_breaks(text: &str) -> Option<Cow<'_, str>> {
    if text.as_bytes().get(BASE64_LINE) != Some(&b'\n') {
        return Some(Cow::Borrowed(text));
    }
    let mut digits = String::with_capacity(text.len());
    let mut rest = text;
    while rest.len() > BASE64_LINE {
        let (line, after) = rest.split_at_checked(BASE64_LINE)?;
        digits.push_str(line);
        rest = after.strip_prefix('\n')?;
    }
    digits.push_str(rest);
    Some(Cow::Owned(digits))
}
