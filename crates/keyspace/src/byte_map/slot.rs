//! The position of an entry within a page.

use std::ops::Range;

/// Flag in [`Slot::value`]: the value is stored out of line, and the other bits are its index.
pub(super) const OUT_OF_LINE: u32 = 1 << 31;

/// The position of a key and its value.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// Offset of the key; the value follows it.
    pub(super) at: u32,
    /// Bytes of the key.
    pub(super) key: u32,
    /// Bytes of the value, or [`OUT_OF_LINE`] and the index of the out-of-line value.
    pub(super) value: u32,
}

impl Slot {
    /// The byte range of the key.
    pub(super) fn key(self) -> Range<usize> {
        let at = self.at as usize;
        at..at + self.key as usize
    }

    /// The byte range of the key and an inline value.
    pub(super) fn entry(self) -> Range<usize> {
        let key = self.key();
        let value = if self.is_out_of_line() { 0 } else { self.value };
        key.start..key.end + value as usize
    }

    /// Whether the value is stored out of line.
    pub(super) fn is_out_of_line(self) -> bool {
        self.value & OUT_OF_LINE != 0
    }

    /// The index of the out-of-line value.
    pub(super) fn out_of_line_index(self) -> usize {
        (self.value & !OUT_OF_LINE) as usize
    }
}

/// The first eight bytes as a number that sorts like the bytes; shorter keys are padded with zeros.
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

/// Converts a length or an index to 32 bits.
pub(super) fn to_u32(count: usize) -> u32 {
    u32::try_from(count).expect("no engine has keys of gigabytes")
}
