//! Strict JSON parsing: a text is stored exactly as written, or rejected. Otherwise, of two members with one
//! name only the last would be kept, and an integer of more than 64 bits would become an approximate
//! floating-point number.

use std::collections::HashSet;

use serde_json::Value as Json;

use crate::{Error, ErrorKind, Result};

/// Parses JSON; rejects duplicate members and integers of more than 64 bits.
pub fn parse_strict_json(text: &[u8]) -> Result<Json> {
    let json = serde_json::from_slice(text)
        .map_err(|error| Error::new(ErrorKind::Syntax, error.to_string()))?;
    check_strict_json(text)?;
    Ok(json)
}

/// Rejects a JSON text with duplicate members or an integer of more than 64 bits.
pub fn check_strict_json(text: &[u8]) -> Result<()> {
    let mut open: Vec<Open> = Vec::new();
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'"' => string(rest),
            b'-' | b'0'..=b'9' => number(rest),
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match byte {
            b'{' | b'[' => open.push(Open::default()),
            b'}' | b']' => drop(open.pop()),
            b'"' if is_name(rest) => enter(&mut open, token)?,
            b'-' | b'0'..=b'9' if !is_exact(token) => {
                let digits = String::from_utf8_lossy(token);
                let message =
                    format!("the integer {digits} has more than 64 bits; write it as a string");
                return Err(at(&open, message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// An object or an array that is being read.
#[derive(Default)]
struct Open {
    names: HashSet<String>,
    /// The member that is being read.
    name: Option<String>,
}

/// The length of the string at the front.
fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of the number at the front.
fn number(text: &[u8]) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let length = text.iter().take_while(|byte| is_part(byte)).count();
    length.max(1)
}

/// Whether the string before is the name of a member.
fn is_name(after: &[u8]) -> bool {
    after.trim_ascii_start().first() == Some(&b':')
}

/// Whether a number is kept as it is written; a number with a fraction or an exponent is a floating-point
/// number anyway.
fn is_exact(number: &[u8]) -> bool {
    let text = std::str::from_utf8(number).unwrap_or_default();
    text.contains(['.', 'e', 'E']) || text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
}

fn enter(open: &mut [Open], name: &[u8]) -> Result<()> {
    let name: String = serde_json::from_slice(name)
        .map_err(|error| Error::new(ErrorKind::Syntax, error.to_string()))?;
    let is_new = open
        .last_mut()
        .is_none_or(|inner| inner.names.insert(name.clone()));
    if let Some(inner) = open.last_mut() {
        inner.name = Some(name);
    }
    if is_new {
        return Ok(());
    }
    Err(at(open, "the member is present twice".to_owned()))
}

/// An error at the current member.
fn at(open: &[Open], message: String) -> Error {
    let names = open.iter().filter_map(|open| open.name.as_deref());
    let place: String = names.map(|name| format!("/{name}")).collect();
    let error = Error::new(ErrorKind::Document, message);
    match place.is_empty() {
        true => error,
        false => error.at(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_changed_silently_is_rejected_with_its_name() {
        for (text, expected) in [
            (r#"{"n":12345678901234567890123}"#, "/n: the integer 1234"),
            (r#"{"a":[{"n":-9223372036854775809}]}"#, "/a/n: the integer"),
            ("18446744073709551616", "the integer 18446744073709551616"),
            (r#"{"n":"a", "n" :"b"}"#, "/n: the member is present twice"),
            (r#"{"x":{"n":1,"\u006e":2}}"#, "/x/n: the member"),
        ] {
            let error = parse_strict_json(text.as_bytes())
                .expect_err(text)
                .to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        for text in [
            r#"{"n":18446744073709551615,"m":-9223372036854775808,"e":1e30,"f":0.5}"#,
            r#"[{"n":1},{"n":2},"n","n",{"n":{"n":"\\\"{:"}}]"#,
            "-0",
            "\"18446744073709551616\"",
        ] {
            parse_strict_json(text.as_bytes()).expect(text);
        }
    }
}
