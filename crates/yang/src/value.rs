//! The value of one leaf or leaf-list entry, in canonical form.
//!
//! A value carries its JSON encoding (RFC 7951 §6), so data can be printed without its type. Values are made by
//! [`crate::schema::Type::parse`]; two values of one leaf are equal exactly if their canonical forms are.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A value in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Value {
    /// `int8`, `int16`, `int32`: a JSON number.
    Int32(i32),
    /// `int64`: a JSON string.
    Int64(i64),
    /// `uint8`, `uint16`, `uint32`: a JSON number.
    Uint32(u32),
    /// `uint64`: a JSON string.
    Uint64(u64),
    /// `decimal64`: the value times 10 to the power of the fraction digits; a JSON string.
    Decimal64(i64, u8),
    /// `boolean`.
    Boolean(bool),
    /// `empty`: JSON `[null]`.
    Empty,
    /// `string`, `enumeration` (the name) and `bits` (names in order of position).
    String(Box<str>),
    /// `binary`: the bytes; base64 in text.
    Binary(Box<[u8]>),
    /// `identityref`, as `module:name`.
    Identity(Box<str>),
    /// `instance-identifier`, in the canonical JSON form of RFC 7951 §6.11; and `xpath1.0` of
    /// ietf-yang-types, likewise with module names for prefixes.
    InstanceIdentifier(Box<str>),
}

impl Value {
    /// A string value.
    pub fn string(text: impl Into<Box<str>>) -> Self {
        Self::String(text.into())
    }

    /// The order of `ordered-by system` lists: numbers as numbers, strings as bytes; between kinds (in a union)
    /// by kind. The same order as the keys of the store.
    pub fn compare(&self, other: &Self) -> Ordering {
        let by_kind = self.kind_rank().cmp(&other.kind_rank());
        by_kind.then_with(|| match (self.as_integer(), other.as_integer()) {
            (Some(mine), Some(theirs)) => mine.cmp(&theirs),
            _ => self.as_bytes().cmp(&other.as_bytes()),
        })
    }

    /// The number, for integers (and the scaled number, for decimals).
    pub fn as_integer(&self) -> Option<i128> {
        match *self {
            Self::Int32(value) => Some(value.into()),
            Self::Int64(value) | Self::Decimal64(value, _) => Some(value.into()),
            Self::Uint32(value) => Some(value.into()),
            Self::Uint64(value) => Some(value.into()),
            _ => None,
        }
    }

    /// The text or the bytes, for values that are stored as such.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::String(text) | Self::Identity(text) | Self::InstanceIdentifier(text) => {
                Some(text.as_bytes())
            }
            Self::Binary(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The rank of the kinds that are compared with one another (decimals by fraction digits).
    fn kind_rank(&self) -> (u8, u8) {
        match self {
            Self::String(_) | Self::Identity(_) | Self::InstanceIdentifier(_) => (0, 0),
            Self::Binary(_) => (1, 0),
            Self::Int32(_) | Self::Int64(_) | Self::Uint32(_) | Self::Uint64(_) => (2, 0),
            Self::Decimal64(_, digits) => (3, *digits),
            Self::Boolean(value) => (4, u8::from(*value)),
            Self::Empty => (5, 0),
        }
    }
}

/// The canonical lexical form (RFC 7950 §9), with `module:name` for identities.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int32(value) => value.fmt(f),
            Self::Int64(value) => value.fmt(f),
            Self::Uint32(value) => value.fmt(f),
            Self::Uint64(value) => value.fmt(f),
            Self::Decimal64(value, digits) => fmt_decimal(*value, *digits, f),
            Self::Boolean(value) => value.fmt(f),
            Self::Empty => Ok(()),
            Self::String(text) | Self::Identity(text) | Self::InstanceIdentifier(text) => {
                f.write_str(text)
            }
            Self::Binary(bytes) => {
                let engine = &base64::engine::general_purpose::STANDARD;
                base64::display::Base64Display::new(bytes, engine).fmt(f)
            }
        }
    }
}

/// RFC 7950 §9.3.2: at least one digit on each side of the point, no other leading or trailing zero.
fn fmt_decimal(value: i64, digits: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let scale = 10u64.pow(digits.into());
    let (whole, fraction) = (value.unsigned_abs() / scale, value.unsigned_abs() % scale);
    let sign = if value < 0 { "-" } else { "" };
    let fraction = format!("{fraction:0width$}", width = usize::from(digits));
    let trimmed = fraction.trim_end_matches('0');
    write!(
        f,
        "{sign}{whole}.{}",
        if trimmed.is_empty() { "0" } else { trimmed }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_canonically() {
        let cases = [
            (0, 1, "0.0"),
            (-5, 2, "-0.05"),
            (1250, 3, "1.25"),
            (i64::MIN, 18, "-9.223372036854775808"),
        ];
        for (value, digits, text) in cases {
            assert_eq!(Value::Decimal64(value, digits).to_string(), text);
        }
    }
}
