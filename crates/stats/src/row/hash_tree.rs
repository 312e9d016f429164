//! Buckets with many values: a tree of rows with 16 children each, indexed by the digits of a hash.

use super::encoding::{LEAF, SPREAD};

// One packed row for a bucket, not a counter for each value: docs/decisions/0039.
/// Digits of the hash: rows at this depth are not divided further.
pub(crate) const DEPTH_MAX: usize = 16;

/// The index of the child row of a path below a row at `depth`.
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

/// The row that replaces one whose entries were moved to its children.
pub(crate) fn spread_marker() -> Vec<u8> {
    vec![SPREAD]
}
