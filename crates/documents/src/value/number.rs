//! A common sort order for numbers of all types.
//!
//! A number is encoded as the integer part (rounded down) in the tuple encoding, then `00` if it is an
//! integer, or `01` and the bits of the double in sortable form. Numbers beyond 64 bits have tags of their
//! own at either end.

use espalier_keyspace::tuple;
use smallvec::SmallVec;

const INTEGER: u8 = 0x00;
const FRACTIONAL: u8 = 0x01;
/// Smaller than all tags of integers.
pub(super) const BELOW: u8 = 0x0b;
/// Larger than all tags of integers.
pub(super) const ABOVE: u8 = 0x1d;
/// NaN sorts after all numbers.
pub(super) const NAN: u8 = 0x1e;

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
const SIGN: u64 = 1 << 63;

/// The bytes of a number: at most 18.
pub(super) type NumberBytes = SmallVec<[u8; 24]>;

pub(super) fn of_unsigned(number: u64) -> NumberBytes {
    let mut key = Vec::with_capacity(10);
    tuple::put_unsigned(&mut key, number);
    key.push(INTEGER);
    SmallVec::from_slice(&key)
}

pub(super) fn of_signed(number: i64) -> NumberBytes {
    let mut key = Vec::with_capacity(10);
    tuple::put_signed(&mut key, number);
    key.push(INTEGER);
    SmallVec::from_slice(&key)
}

pub(super) fn of_float(number: f64) -> NumberBytes {
    if number.is_nan() {
        return SmallVec::from_slice(&[NAN]);
    }
    if number < -TWO_TO_63 {
        return tagged(BELOW, number);
    }
    if number >= TWO_TO_64 {
        return tagged(ABOVE, number);
    }
    let floor = number.floor();
    let mut key = if floor >= 0.0 {
        of_unsigned(floor as u64)
    } else {
        of_signed(floor as i64)
    };
    if floor != number {
        key.pop();
        key.push(FRACTIONAL);
        key.extend_from_slice(&ordered(number).to_be_bytes());
    }
    key
}

fn tagged(tag: u8, number: f64) -> NumberBytes {
    let mut key = NumberBytes::new();
    key.push(tag);
    key.extend_from_slice(&ordered(number).to_be_bytes());
    key
}

/// Bits that sort like the numbers.
fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn number_of(ordered: u64) -> f64 {
    f64::from_bits(if ordered & SIGN == 0 {
        !ordered
    } else {
        ordered & !SIGN
    })
}

/// Decodes the part after the integer: a double if the number is not an integer.
pub(super) fn take_rest(bytes: &mut &[u8]) -> Option<Option<f64>> {
    match *bytes.split_off_first()? {
        INTEGER => Some(None),
        FRACTIONAL => take_double(bytes).map(Some),
        _ => None,
    }
}

/// Decodes a double.
pub(super) fn take_double(bytes: &mut &[u8]) -> Option<f64> {
    let bits = bytes.split_off(..8)?.try_into().ok()?;
    Some(number_of(u64::from_be_bytes(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_type_sort_by_value() {
        let sorted = [
            of_float(f64::NEG_INFINITY),
            of_float(-1e300),
            of_float(-9.3e18),
            of_signed(i64::MIN),
            of_float(-1e15 - 0.5),
            of_signed(-2),
            of_float(-1.5),
            of_signed(-1),
            of_float(-0.5),
            of_float(-1e-300),
            of_signed(0),
            of_float(1e-300),
            of_float(0.25),
            of_unsigned(1),
            of_float(1.5),
            of_signed(2),
            of_signed(256),
            of_float(256.5),
            of_unsigned(u64::MAX),
            of_float(1e20),
            of_float(f64::INFINITY),
            of_float(f64::NAN),
        ];
        assert!(sorted.is_sorted());
        assert!(sorted.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(of_float(-0.0), of_signed(0));
        assert_eq!(of_float(7.0), of_unsigned(7));
        for (at, one) in sorted.iter().enumerate() {
            let other = sorted.iter().enumerate().filter(|(other, _)| *other != at);
            assert!(
                other
                    .map(|(_, other)| other)
                    .all(|other| !other.starts_with(one))
            );
        }
    }
}
