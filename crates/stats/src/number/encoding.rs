//! The encoding of numbers and lengths.
//!
//! A number is a byte for its scale and a zigzag varint for its mantissa; a float is `ff` and eight bytes,
//! little endian.

use super::value::{Decimal, Number};
use crate::{Error, Result};

const FLOAT: u8 = 0xff;

/// Groups of 7 bits in the longest varint.
const VARINT_BYTES_MAX: usize = 19;

/// Groups of 7 bits that fit into 64 bits.
const SHORT_GROUPS: usize = 9;

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u128) {
    if let Ok(mut short) = u64::try_from(value) {
        while short >= 0x80 {
            out.push(short as u8 | 0x80);
            short >>= 7;
        }
        return out.push(short as u8);
    }
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn take_varint(bytes: &mut &[u8]) -> Result<u128> {
    if let Some((&byte, rest)) = bytes.split_first()
        && byte < 0x80
    {
        *bytes = rest;
        return Ok(u128::from(byte));
    }
    // Most numbers fit into 64 bits, which are faster than 128.
    let mut short = 0;
    for (group, byte) in bytes.iter().take(SHORT_GROUPS).enumerate() {
        short |= u64::from(byte & 0x7f) << (7 * group);
        if *byte < 0x80 {
            *bytes = &bytes[group + 1..];
            return Ok(u128::from(short));
        }
    }
    let mut value = 0;
    for group in 0..VARINT_BYTES_MAX {
        let byte = *bytes.split_off_first().ok_or_else(truncated)?;
        value |= u128::from(byte & 0x7f) << (7 * group);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::corrupt("a stored number is too long"))
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_varint(out, text.len() as u128);
    out.extend_from_slice(text);
}

pub(crate) fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes)?).map_err(|_| truncated())?;
    bytes.split_off(..length).ok_or_else(truncated)
}

pub(crate) fn put_number(out: &mut Vec<u8>, number: Number) {
    match number {
        Number::Exact(decimal) => {
            let mantissa = decimal.mantissa();
            out.push(decimal.scale());
            put_varint(out, ((mantissa << 1) ^ (mantissa >> 127)) as u128);
        }
        Number::Float(value) => {
            out.push(FLOAT);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

pub(crate) fn take_number(bytes: &mut &[u8]) -> Result<Number> {
    let scale = *bytes.split_off_first().ok_or_else(truncated)?;
    if scale == FLOAT {
        let value = bytes.split_off(..8).ok_or_else(truncated)?;
        let value = value.try_into().map_err(|_| truncated())?;
        return Ok(Number::Float(f64::from_le_bytes(value)));
    }
    let zigzag = take_varint(bytes)?;
    let mantissa = (zigzag >> 1) as i128 ^ -((zigzag & 1) as i128);
    Decimal::new(mantissa, u32::from(scale))
        .map(Number::Exact)
        .ok_or_else(|| Error::corrupt("a stored number has too many decimal places"))
}

fn truncated() -> Error {
    Error::corrupt("a stored row is truncated")
}
