//! The end of a range, for clients that need a key there.

use espalier_keyspace::KeyRange;

/// A key greater than every other: the end of a range without end.
const NO_END: [u8; 1] = [0xff];

/// The first key after a range.
pub fn range_end(range: &KeyRange) -> &[u8] {
    range.end.as_deref().unwrap_or(&NO_END)
}
