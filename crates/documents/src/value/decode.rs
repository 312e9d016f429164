//! Decodes values to JSON.

use std::fmt;

use espalier_keyspace::tuple::{self, Element, LONG_PREFIX_BYTES};
use serde_json::Value as Json;

use super::Value;
use super::number::{ABOVE, BELOW, NAN, take_double, take_rest};
use crate::{Error, Result};

const STRING: u8 = 0x02;
const BINARY: u8 = 0x03;
const ESCAPE: u8 = 0x01;

impl Value {
    /// Decodes a stored value: from its key, and from its row if the key is shortened.
    pub(crate) fn stored(short: &[u8], full: &[u8]) -> Result<Self> {
        let mut value = Self::default();
        let mut rest = if full.is_empty() { short } else { full };
        while !rest.is_empty() {
            take_into(&mut rest, &mut value)?;
        }
        Ok(value)
    }

    /// The components.
    pub fn to_json(&self) -> Vec<Json> {
        let mut rest = self.full();
        let mut components = Vec::new();
        while !rest.is_empty() {
            match take_json(&mut rest) {
                Ok(component) => components.push(component),
                Err(_) => break,
            }
        }
        components
    }
}

impl fmt::Display for Value {
    /// One component as JSON; several as a JSON array.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json().as_slice() {
            [component] => write!(f, "{component}"),
            components => write!(f, "{}", Json::from(components.to_vec())),
        }
    }
}

/// Moves one component from the encoding to a value.
fn take_into(rest: &mut &[u8], value: &mut Value) -> Result<()> {
    let before = *rest;
    match before.first() {
        Some(&STRING | &BINARY) => match tuple::take(rest)? {
            Element::Bytes(text) => value.push_text(&text),
            Element::Binary(bytes) => value.push_binary(&bytes),
            _ => return Err(damaged()),
        },
        _ => {
            take_json(rest)?;
            value.push(&before[..before.len() - rest.len()]);
        }
    }
    Ok(())
}

/// Skips one component of a key; a long string may be shortened.
pub(crate) fn skip(rest: &mut &[u8]) -> Result<()> {
    match rest.first() {
        Some(&STRING | &BINARY) => Ok(tuple::skip(rest)?),
        _ => take_json(rest).map(drop),
    }
}

fn take_json(rest: &mut &[u8]) -> Result<Json> {
    match rest.first() {
        Some(&(BELOW | ABOVE)) => {
            *rest = &rest[1..];
            let double = take_double(rest).ok_or_else(damaged)?;
            return Ok(Json::from(double));
        }
        Some(&NAN) => {
            *rest = &rest[1..];
            return Ok(Json::Null);
        }
        _ => {}
    }
    match tuple::take(rest)? {
        Element::Bytes(text) => Ok(text_json(text)),
        Element::Binary(bytes) => Ok(Json::from(bytes.escape_ascii().to_string())),
        Element::Boolean(truth) => Ok(Json::from(truth)),
        Element::Integer(whole) => match take_rest(rest).ok_or_else(damaged)? {
            Some(double) => Ok(Json::from(double)),
            None => integer_json(whole),
        },
        _ => Err(damaged()),
    }
}

fn text_json(text: Vec<u8>) -> Json {
    String::from_utf8(text).map_or_else(
        |error| Json::from(error.into_bytes().escape_ascii().to_string()),
        Json::from,
    )
}

fn integer_json(whole: i128) -> Result<Json> {
    if let Ok(signed) = i64::try_from(whole) {
        return Ok(Json::from(signed));
    }
    let unsigned = u64::try_from(whole).map_err(|_| damaged())?;
    Ok(Json::from(unsigned))
}

fn damaged() -> Error {
    Error::corrupt("an indexed value cannot be read")
}

/// The length of the prefix of an encoding after which the order of keys may differ from the order of values:
/// up to and including the first bytes of the first long string. `None` if there is no such string. The same
/// for either encoding.
pub(crate) fn ordered_prefix(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    while let Some(&tag) = rest.first() {
        let at = bytes.len() - rest.len();
        if (tag == STRING || tag == BINARY)
            && let Some(length) = long_string(&rest[1..])
        {
            return Some(at + 1 + length);
        }
        skip(&mut rest).ok()?;
    }
    None
}

/// The escaped length of the first bytes of a string that is longer.
fn long_string(escaped: &[u8]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..LONG_PREFIX_BYTES {
        at += match escaped.get(at)? {
            0 => return None,
            &ESCAPE => 2,
            _ => 1,
        };
    }
    (*escaped.get(at)? != 0).then_some(at)
}
