//! Sequences of bits, the highest bit of a byte first.

use crate::{Error, Result};

/// Appends bits to bytes.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    pending: u128,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// A writer that begins with the next byte of `out`.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            pending: 0,
            count: 0,
        }
    }

    /// Appends the lowest `width` bits of `value`, whose other bits are zero.
    pub(super) fn put(&mut self, value: u64, width: u32) {
        self.pending = self.pending << width | u128::from(value);
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.out.push((self.pending >> self.count) as u8);
        }
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(self) {
        if self.count > 0 {
            self.out.push((self.pending << (8 - self.count)) as u8);
        }
    }
}

/// Takes bits from bytes.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    pending: u128,
    count: u32,
}

impl<'a> BitReader<'a> {
    /// A reader of bits that were written from the start of a byte.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            pending: 0,
            count: 0,
        }
    }

    /// The next `width` bits, at most 64.
    pub(super) fn take(&mut self, width: u32) -> Result<u64> {
        while self.count < width {
            if let Some((chunk, rest)) = self.bytes.split_first_chunk::<4>() {
                self.pending = self.pending << 32 | u128::from(u32::from_be_bytes(*chunk));
                self.count += 32;
                self.bytes = rest;
            } else {
                let byte = self.bytes.split_off_first().ok_or_else(truncated)?;
                self.pending = self.pending << 8 | u128::from(*byte);
                self.count += 8;
            }
        }
        self.count -= width;
        let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
        Ok((self.pending >> self.count) as u64 & mask)
    }

    /// The bytes after the one with the last bit that was taken.
    pub(super) fn rest<'b>(&self, all: &'b [u8]) -> &'b [u8] {
        let unread = self.bytes.len() + self.count as usize / 8;
        &all[all.len() - unread..]
    }
}

fn truncated() -> Error {
    Error::corrupt("a stored column is truncated")
}
