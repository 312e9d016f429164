//! Compact encoding of numbers and byte strings, used by values and journals.

/// Appends a number as a varint: groups of 7 bits, the lowest first.
#[inline]
pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a varint off the front; `None` if there is no complete one.
#[inline]
pub fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Appends a byte string, prefixed with its length.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes a byte string off the front; `None` if it is incomplete.
#[inline]
pub fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    rest.split_off(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_values_are_decoded_unchanged() {
        for length in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 100_000] {
            let bytes = vec![7; length];
            let mut packed = Vec::new();
            put_bytes(&mut packed, &bytes);
            put_number(&mut packed, u64::MAX);
            let mut rest = packed.as_slice();
            assert_eq!(take_bytes(&mut rest), Some(bytes.as_slice()));
            assert_eq!(take_number(&mut rest), Some(u64::MAX));
            assert!(rest.is_empty());
            for cut in [0, length / 2, length] {
                assert_eq!(take_bytes(&mut &packed[..cut]), None, "{cut} of {length}");
            }
        }
        assert_eq!(take_number(&mut &[0xff; 11][..]), None);
    }
}
