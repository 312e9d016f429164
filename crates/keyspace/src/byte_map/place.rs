//! Where in a page a key and its value stand.

use std::ops::Range;

/// In [`Place::value`]: the value stands apart, and the rest says where.
pub(super) const APART: u32 = 1 << 31;

/// Where a key and its value stand.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Where the key begins; its value comes after it.
    pub(super) at: u32,
    /// Bytes of the key.
    pub(super) key: u32,
    /// Bytes of the value, or [`APART`] and its number among those.
    pub(super) value: u32,
}

impl Place {
    /// The key.
    pub(super) fn key(self) -> Range<usize> {
        let at = self.at as usize;
        at..at + self.key as usize
    }

    /// The key, and the value where it is not apart.
    pub(super) fn cell(self) -> Range<usize> {
        let key = self.key();
        let value = if self.is_apart() { 0 } else { self.value };
        key.start..key.end + value as usize
    }

    /// Whether the value stands apart.
    pub(super) fn is_apart(self) -> bool {
        self.value & APART != 0
    }

    /// Its number among those that do.
    pub(super) fn number_apart(self) -> usize {
        (self.value & !APART) as usize
    }
}

/// Eight bytes, ordered as the bytes are; where there are fewer, with zeros after them.
pub(super) fn head(rest: &[u8]) -> u64 {
    match rest.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(bytes)
        }
    }
}

/// A number of bytes of a page, or of values.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).expect("no engine has keys of gigabytes")
}
