//! Rows: the packed values of a bucket.
//!
//! All values of a bucket are in one row, sorted by path, as long as they fit into
//! [`crate::limits::ROW_BYTES`]. The values of a larger bucket are distributed over 16 rows by a hash of the
//! path, and each of those that grows too large over 16 more (`hash_tree.rs`), so that adding to one of a
//! million values costs a few rows of 4 KiB.
//!
//! # Why rows, and not a key for each value
//! With one key for each value the engine could add without a read (`Batch::add`). The measurements that
//! decided against it, with 23 values at 7 granularities (161 counters), are in docs/decisions/0039: the 161
//! counters cost the engine 161 searches, the seven rows cost seven; a series is read from 23 times fewer
//! keys; and only in a row can numbers be wider than 64 bits, or decimals. The price of a row is that it is
//! read before it is written. Therefore the writes of one process are grouped (`GroupQueue`), and those
//! of several processes detect each other by preconditions.

mod encoding;
mod hash_tree;
mod merge;

pub(crate) use encoding::{Row, entries, row};
pub(crate) use hash_tree::{DEPTH_MAX, entry_digit, leaf, spread_marker};
pub(crate) use merge::{MergeMode, combine, merge};
