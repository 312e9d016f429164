//! Sequences of integers, in the shortest of four codes.
//!
//! Differences are computed modulo 2^64, so every sequence of `i64` can be stored in every code.

use super::bits::{BitReader, BitWriter};
use crate::number::take_varint;
use crate::{Error, Result};

/// All integers are equal: one varint.
const SAME: u8 = 0;

/// The smallest integer, the width, and the distance of each from the smallest in that many bits.
const PACKED: u8 = 1;

/// The first integer, then the differences as in [`PACKED`].
const PACKED_DELTAS: u8 = 2;

/// The first integer, then the differences as varints.
const DELTAS: u8 = 3;

/// Appends integers; their number is not stored. `deltas` is scratch memory.
pub(super) fn put_integers(out: &mut Vec<u8>, integers: &[i64], deltas: &mut Vec<i64>) {
    let Some((&first, rest)) = integers.split_first() else {
        return;
    };
    if rest.iter().all(|integer| *integer == first) {
        out.push(SAME);
        return put_signed(out, first);
    }
    deltas.clear();
    deltas.extend(integers.windows(2).map(|two| two[1].wrapping_sub(two[0])));
    let packed = packed_bytes(integers);
    let packed_deltas = signed_bytes(first) + packed_bytes(deltas);
    let varints = deltas.iter().map(|delta| signed_bytes(*delta));
    let varints = signed_bytes(first) + varints.sum::<usize>();
    if packed <= packed_deltas && packed <= varints {
        out.push(PACKED);
        put_packed(out, integers);
    } else if packed_deltas <= varints {
        out.push(PACKED_DELTAS);
        put_signed(out, first);
        put_packed(out, deltas);
    } else {
        out.push(DELTAS);
        put_signed(out, first);
        deltas.iter().for_each(|delta| put_signed(out, *delta));
    }
}

/// Removes `count` integers from the front of `bytes`.
pub(super) fn take_integers(
    bytes: &mut &[u8],
    count: usize,
    integers: &mut Vec<i64>,
) -> Result<()> {
    integers.clear();
    if count == 0 {
        return Ok(());
    }
    let code = *bytes.split_off_first().ok_or_else(damaged)?;
    let first = match code {
        PACKED => return take_packed(bytes, count, integers),
        _ => take_signed(bytes)?,
    };
    match code {
        SAME => {
            integers.resize(count, first);
            return Ok(());
        }
        PACKED_DELTAS => take_packed(bytes, count - 1, integers)?,
        DELTAS => {
            for _ in 1..count {
                integers.push(take_signed(bytes)?);
            }
        }
        _ => return Err(damaged()),
    }
    let mut sum = first;
    for place in integers.iter_mut() {
        let delta = std::mem::replace(place, sum);
        sum = sum.wrapping_add(delta);
    }
    integers.push(sum);
    Ok(())
}

fn range(integers: &[i64]) -> (i64, u32) {
    let smallest = integers.iter().copied().min().unwrap_or(0);
    let distances = integers.iter().map(|integer| distance(*integer, smallest));
    let largest = distances.max().unwrap_or(0);
    (smallest, u64::BITS - largest.leading_zeros())
}

fn distance(integer: i64, smallest: i64) -> u64 {
    integer.wrapping_sub(smallest) as u64
}

fn packed_bytes(integers: &[i64]) -> usize {
    let (smallest, width) = range(integers);
    signed_bytes(smallest) + 1 + (integers.len() * width as usize).div_ceil(8)
}

fn put_packed(out: &mut Vec<u8>, integers: &[i64]) {
    let (smallest, width) = range(integers);
    put_signed(out, smallest);
    out.push(width as u8);
    let mut bits = BitWriter::new(out);
    for integer in integers {
        bits.put(distance(*integer, smallest), width);
    }
    bits.finish();
}

fn take_packed(bytes: &mut &[u8], count: usize, integers: &mut Vec<i64>) -> Result<()> {
    let smallest = take_signed(bytes)?;
    let width = u32::from(*bytes.split_off_first().ok_or_else(damaged)?);
    if width > u64::BITS {
        return Err(damaged());
    }
    let mut bits = BitReader::new(bytes);
    for _ in 0..count {
        integers.push(smallest.wrapping_add(bits.take(width)? as i64));
    }
    *bytes = bits.rest(bytes);
    Ok(())
}

/// Appends an integer as a zigzag varint.
pub(super) fn put_signed(out: &mut Vec<u8>, integer: i64) {
    let mut zigzag = zigzag(integer);
    while zigzag >= 0x80 {
        out.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    out.push(zigzag as u8);
}

/// Removes an integer from the front of `bytes`.
pub(super) fn take_signed(bytes: &mut &[u8]) -> Result<i64> {
    let zigzag = u64::try_from(take_varint(bytes)?).map_err(|_| damaged())?;
    Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
}

fn signed_bytes(integer: i64) -> usize {
    let bits = u64::BITS - zigzag(integer).leading_zeros();
    bits.div_ceil(7).max(1) as usize
}

fn zigzag(integer: i64) -> u64 {
    ((integer << 1) ^ (integer >> 63)) as u64
}

fn damaged() -> Error {
    Error::corrupt("a stored column is damaged")
}
