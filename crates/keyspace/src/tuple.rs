//! Order-preserving encoding of typed values into key bytes.
//!
//! Encoded elements sort as the values do and are self-delimiting: no element is a prefix of another, so a
//! key that begins with the encoding of a tuple belongs to that tuple's subtree. The model is
//! FoundationDB's tuple layer, with two differences. A long string is shortened with a hash, because
//! engines limit the length of keys. A zero within a string does not start with the byte that ends a
//! string: encoded as `00 ff`, `"a"` would be a prefix of `"a\0"`, and the subtree of the one would contain
//! the other.
//!
//! | element | bytes |
//! |---|---|
//! | integer | `0x14 + n` and `n` bytes big endian for positives (`0x14` alone is 0); `0x14 - n` and the complement for negatives |
//! | string | `0x02`, the bytes with `00` as `01 01` and `01` as `01 02`, then `00` |
//! | long string | `0x02`, its first [`LONG_PREFIX_BYTES`] bytes escaped, then `01 03` and 16 bytes of BLAKE3 |
//! | bytes | `0x03`, then as a string |
//! | decimal | `0x22`, the number of fraction digits, the scaled integer |
//! | false, true, empty | `0x26`, `0x27`, `0x28` |
//!
//! Strings longer than [`STRING_BYTES_MAX`] sort exactly by their first [`LONG_PREFIX_BYTES`] bytes and by
//! hash after that. A caller that needs the string stores it in the value of the key.

use crate::{Error, ErrorKind, Result};

/// Strings up to this many bytes are stored in a key in full.
pub const STRING_BYTES_MAX: usize = 96;

/// Bytes of a longer string stored before its hash.
pub const LONG_PREFIX_BYTES: usize = 32;

const HASH_BYTES: usize = 16;
const STRING: u8 = 0x02;
const BINARY: u8 = 0x03;
const ZERO: u8 = 0x14;
const DECIMAL: u8 = 0x22;
const FALSE: u8 = 0x26;
const TRUE: u8 = 0x27;
const EMPTY: u8 = 0x28;
/// Ends a string.
const END: u8 = 0x00;
/// Escapes a byte within a string; the next byte is one of the three below.
const ESCAPE: u8 = 0x01;
const ESCAPED_ZERO: u8 = 0x01;
const ESCAPED_ONE: u8 = 0x02;
const HASHED: u8 = 0x03;

/// One decoded element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// An integer between `i64::MIN` and `u64::MAX`.
    Integer(i128),
    /// A string, in full.
    Bytes(Vec<u8>),
    /// Bytes that are not text, in full.
    Binary(Vec<u8>),
    /// The first [`LONG_PREFIX_BYTES`] bytes of a long string, and the hash of the full string.
    Hashed([u8; LONG_PREFIX_BYTES], [u8; HASH_BYTES]),
    /// The same for long bytes that are not text.
    HashedBinary([u8; LONG_PREFIX_BYTES], [u8; HASH_BYTES]),
    /// A decimal: the number of fraction digits, and the value scaled by them.
    Decimal(u8, i128),
    /// A boolean.
    Boolean(bool),
    /// The value of type `empty`.
    Empty,
}

/// Appends a signed integer.
pub fn put_signed(key: &mut Vec<u8>, value: i64) {
    if value >= 0 {
        return put_unsigned(key, value.unsigned_abs());
    }
    let magnitude = value.unsigned_abs();
    let bytes = significant_bytes(magnitude);
    key.push(ZERO - bytes as u8);
    key.extend_from_slice(&(!magnitude).to_be_bytes()[8 - bytes..]);
}

/// Appends an unsigned integer.
pub fn put_unsigned(key: &mut Vec<u8>, value: u64) {
    let bytes = significant_bytes(value);
    key.push(ZERO + bytes as u8);
    key.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
}

/// Appends a decimal: `value` scaled by `digits` fraction digits. Decimals of the same number of
/// digits sort by value.
pub fn put_decimal(key: &mut Vec<u8>, value: i64, digits: u8) {
    key.extend_from_slice(&[DECIMAL, digits]);
    put_signed(key, value);
}

/// Appends a boolean.
pub fn put_boolean(key: &mut Vec<u8>, value: bool) {
    key.push(if value { TRUE } else { FALSE });
}

/// Appends the value of type `empty`.
pub fn put_empty(key: &mut Vec<u8>) {
    key.push(EMPTY);
}

/// Appends a string; one longer than [`STRING_BYTES_MAX`] is shortened with a hash.
pub fn put_bytes(key: &mut Vec<u8>, value: &[u8]) {
    put_tagged(key, STRING, value);
}

/// Appends bytes that are not text; their encoding differs from the string of the same bytes.
pub fn put_binary(key: &mut Vec<u8>, value: &[u8]) {
    put_tagged(key, BINARY, value);
}

fn put_tagged(key: &mut Vec<u8>, tag: u8, value: &[u8]) {
    key.push(tag);
    if value.len() <= STRING_BYTES_MAX {
        put_escaped(key, value);
        key.push(END);
    } else {
        put_escaped(key, &value[..LONG_PREFIX_BYTES]);
        key.extend_from_slice(&[ESCAPE, HASHED]);
        key.extend_from_slice(&blake3::hash(value).as_bytes()[..HASH_BYTES]);
    }
}

/// Whether [`put_bytes`] shortens a value of this many bytes.
pub fn is_shortened(bytes: usize) -> bool {
    bytes > STRING_BYTES_MAX
}

/// Takes one element off the front of `bytes`.
pub fn take(bytes: &mut &[u8]) -> Result<Element> {
    let (&tag, rest) = bytes.split_first().ok_or_else(truncated)?;
    *bytes = rest;
    match tag {
        STRING => take_bytes(bytes),
        BINARY => Ok(match take_bytes(bytes)? {
            Element::Bytes(value) => Element::Binary(value),
            Element::Hashed(prefix, hash) => Element::HashedBinary(prefix, hash),
            other => other,
        }),
        DECIMAL => take_decimal(bytes),
        FALSE => Ok(Element::Boolean(false)),
        TRUE => Ok(Element::Boolean(true)),
        EMPTY => Ok(Element::Empty),
        tag if tag.abs_diff(ZERO) <= 8 => take_integer(tag, bytes).map(Element::Integer),
        _ => Err(unknown(tag)),
    }
}

/// Skips one element at the front of `bytes`, without decoding it.
pub fn skip(bytes: &mut &[u8]) -> Result<()> {
    let (&tag, rest) = bytes.split_first().ok_or_else(truncated)?;
    *bytes = rest;
    match tag {
        STRING | BINARY => skip_bytes(bytes),
        DECIMAL => take_decimal(bytes).map(drop),
        FALSE | TRUE | EMPTY => Ok(()),
        tag if tag.abs_diff(ZERO) <= 8 => bytes
            .split_off(..usize::from(tag.abs_diff(ZERO)))
            .map(|_| ())
            .ok_or_else(truncated),
        _ => Err(unknown(tag)),
    }
}

fn skip_bytes(bytes: &mut &[u8]) -> Result<()> {
    loop {
        let at = memchr::memchr2(END, ESCAPE, bytes).ok_or_else(truncated)?;
        if bytes[at] == END {
            *bytes = &bytes[at + 1..];
            return Ok(());
        }
        let is_hashed = *bytes.get(at + 1).ok_or_else(truncated)? == HASHED;
        let length = at + 2 + if is_hashed { HASH_BYTES } else { 0 };
        bytes.split_off(..length).ok_or_else(truncated)?;
        if is_hashed {
            return Ok(());
        }
    }
}

fn significant_bytes(value: u64) -> usize {
    8 - value.leading_zeros() as usize / 8
}

fn put_escaped(key: &mut Vec<u8>, mut value: &[u8]) {
    while let Some(at) = memchr::memchr2(0, 1, value) {
        key.extend_from_slice(&value[..at]);
        let escaped = [ESCAPED_ZERO, ESCAPED_ONE][usize::from(value[at])];
        key.extend_from_slice(&[ESCAPE, escaped]);
        value = &value[at + 1..];
    }
    key.extend_from_slice(value);
}

fn take_integer(tag: u8, bytes: &mut &[u8]) -> Result<i128> {
    let length = usize::from(tag.abs_diff(ZERO));
    let digits = bytes.split_off(..length).ok_or_else(truncated)?;
    let mut padded = [if tag < ZERO { 0xff } else { 0 }; 8];
    padded[8 - length..].copy_from_slice(digits);
    let value = u64::from_be_bytes(padded);
    Ok(if tag < ZERO {
        -i128::from(!value)
    } else {
        i128::from(value)
    })
}

fn take_decimal(bytes: &mut &[u8]) -> Result<Element> {
    let digits = *bytes.split_off_first().ok_or_else(truncated)?;
    let tag = *bytes.split_off_first().ok_or_else(truncated)?;
    if tag.abs_diff(ZERO) > 8 {
        let message = "a decimal in a key has no integer";
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    take_integer(tag, bytes).map(|value| Element::Decimal(digits, value))
}

fn take_bytes(bytes: &mut &[u8]) -> Result<Element> {
    let mut value = Vec::new();
    loop {
        let at = memchr::memchr2(END, ESCAPE, bytes).ok_or_else(truncated)?;
        value.extend_from_slice(&bytes[..at]);
        let marker = bytes[at];
        *bytes = &bytes[at + 1..];
        if marker == END {
            return Ok(Element::Bytes(value));
        }
        match bytes.split_off_first().ok_or_else(truncated)? {
            &ESCAPED_ZERO => value.push(0),
            &ESCAPED_ONE => value.push(1),
            &HASHED => return take_hash(&value, bytes),
            other => {
                let message = format!("a key has the unknown escape {other:#04x}");
                return Err(Error::new(ErrorKind::Corrupt, message));
            }
        }
    }
}

fn take_hash(prefix: &[u8], bytes: &mut &[u8]) -> Result<Element> {
    let prefix = prefix.try_into().map_err(|_| truncated())?;
    let hash = bytes.split_off(..HASH_BYTES).ok_or_else(truncated)?;
    Ok(Element::Hashed(
        prefix,
        hash.try_into().map_err(|_| truncated())?,
    ))
}

fn unknown(tag: u8) -> Error {
    let message = format!("a key is damaged: it has the unknown tag {tag:#04x}");
    Error::new(ErrorKind::Corrupt, message)
}

fn truncated() -> Error {
    Error::new(ErrorKind::Corrupt, "a key ends within an element")
}
