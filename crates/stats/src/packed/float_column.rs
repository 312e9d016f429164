//! Sequences of floats: each is combined with the one before by exclusive or, and only the bits that differ are stored.
//!
//! The code is that of Gorilla (Pelkonen et al., "Gorilla: A Fast, Scalable, In-Memory Time Series Database", VLDB
//! 2015, section 4.1.2), with six bits for the number of leading zeros.

use super::bits::{BitReader, BitWriter};
use crate::{Error, Result};

/// The part of a float that differs: the zeros before it, and its length in bits.
#[derive(Clone, Copy)]
struct Window {
    leading: u32,
    length: u32,
}

impl Window {
    fn of(difference: u64) -> Self {
        let leading = difference.leading_zeros();
        let length = u64::BITS - leading - difference.trailing_zeros();
        Self { leading, length }
    }

    fn trailing(self) -> u32 {
        u64::BITS - self.leading - self.length
    }

    fn contains(self, other: Self) -> bool {
        self.leading <= other.leading && self.trailing() <= other.trailing()
    }
}

/// Appends floats; their number is not stored.
pub(super) fn put_floats(out: &mut Vec<u8>, floats: impl Iterator<Item = f64>) {
    let mut bits = BitWriter::new(out);
    let mut before = 0;
    let mut window: Option<Window> = None;
    for float in floats {
        let difference = float.to_bits() ^ before;
        before = float.to_bits();
        if difference == 0 {
            bits.put(0, 1);
            continue;
        }
        let needed = Window::of(difference);
        let used = match window {
            Some(window) if window.contains(needed) => {
                bits.put(0b10, 2);
                window
            }
            _ => {
                bits.put(0b11, 2);
                bits.put(u64::from(needed.leading), 6);
                bits.put(u64::from(needed.length - 1), 6);
                needed
            }
        };
        bits.put(difference >> used.trailing(), used.length);
        window = Some(used);
    }
    bits.finish();
}

/// Removes `count` floats from the front of `bytes`.
pub(super) fn take_floats(
    bytes: &mut &[u8],
    count: usize,
    put: &mut dyn FnMut(usize, f64),
) -> Result<()> {
    let mut bits = BitReader::new(bytes);
    let mut before = 0;
    let mut window = Window {
        leading: 0,
        length: 64,
    };
    for index in 0..count {
        if bits.take(1)? == 1 {
            if bits.take(1)? == 1 {
                window = Window {
                    leading: bits.take(6)? as u32,
                    length: bits.take(6)? as u32 + 1,
                };
                if window.leading + window.length > u64::BITS {
                    return Err(Error::corrupt("a stored column of floats is damaged"));
                }
            }
            before ^= bits.take(window.length)? << window.trailing();
        }
        put(index, f64::from_bits(before));
    }
    *bytes = bits.rest(bytes);
    Ok(())
}
