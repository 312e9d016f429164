//! Buckets of many values: a tree of rows, 16 below each, found by the digits of a hash.

use super::read::{LEAF, SPREAD};

/// Digits of the hash: rows at this depth are not spread further.
pub(crate) const DEPTH_MAX: usize = 16;

/// Which of the 16 rows below one at `depth` a path belongs to.
pub(crate) fn entry_digit(path: &[u8], depth: usize) -> u8 {
    let hash = blake3::hash(path);
    let byte = hash.as_bytes()[depth / 2];
    if depth.is_multiple_of(2) {
        byte >> 4
    } else {
        byte & 0x0f
    }
}

/// A row of values with these entries.
pub(crate) fn leaf(entries: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(entries.len() + 1);
    row.push(LEAF);
    row.extend_from_slice(entries);
    row
}

/// The row in place of one that was spread.
pub(crate) fn spread_marker() -> Vec<u8> {
    vec![SPREAD]
}
