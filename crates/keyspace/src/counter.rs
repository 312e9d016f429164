//! Counters: the semantics of the operation `add`, the same in every driver.

use crate::{Error, ErrorKind, Result};

/// Bytes of a stored counter: an `i64`, little endian.
pub const COUNTER_BYTES: usize = size_of::<i64>();

/// Encodes a counter for storage.
pub fn encode(value: i64) -> [u8; COUNTER_BYTES] {
    value.to_le_bytes()
}

/// Decodes the counter stored at `key`; an absent one counts as 0.
pub fn decode(key: &[u8], stored: Option<&[u8]>) -> Result<i64> {
    let Some(bytes) = stored else { return Ok(0) };
    bytes.try_into().map(i64::from_le_bytes).map_err(|_| {
        let message = format!(
            "a counter has {COUNTER_BYTES} bytes; this value has {}",
            bytes.len()
        );
        Error::new(ErrorKind::Overflow, message).with_key(key)
    })
}

/// Returns the stored form of a counter after adding `delta`.
pub fn add(key: &[u8], stored: Option<&[u8]>, delta: i64) -> Result<[u8; COUNTER_BYTES]> {
    let sum = decode(key, stored)?.checked_add(delta).ok_or_else(|| {
        Error::new(
            ErrorKind::Overflow,
            "a counter would leave the range of i64",
        )
        .with_key(key)
    })?;
    Ok(encode(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_refusals() {
        fn sum(stored: Option<&[u8]>, delta: i64) -> Result<[u8; COUNTER_BYTES]> {
            add(b"k", stored, delta)
        }
        assert_eq!(sum(None, -3).expect("from nothing"), encode(-3));
        assert_eq!(sum(Some(&encode(40)), 2).expect("in range"), encode(42));
        for refused in [
            sum(Some(&encode(i64::MAX)), 1),
            sum(Some(&encode(i64::MIN)), -1),
            sum(Some(b"seven b"), 1),
            sum(Some(b""), 1),
        ] {
            assert_eq!(
                refused.expect_err("out of range").kind(),
                ErrorKind::Overflow
            );
        }
    }
}
