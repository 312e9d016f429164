//! Rows: the values of a bucket, packed.
//!
//! All values of a bucket stand in one row, in the order of their paths, as long as they fit
//! [`crate::limits::ROW_BYTES`]. A bucket with more is spread over 16 rows by a hash of the path,
//! and each of those that grows too large over 16 more (`spread.rs`), so that adding to one of a
//! million values costs a few rows of 4 KiB.
//!
//! # Why packed, and not a key for each value
//! One key for each value would let the engine add without anything being read (`Batch::add`).
//! What decided against it, measured with 23 values at 7 granularities (161 counters), stands in
//! ARCHITECTURE.md: the 161 counters cost the engine 161 searches, the seven rows cost seven; a
//! series is read by 23 times fewer keys; and only in a row of our own can numbers be wider than
//! 64 bits or decimals. What a row costs is that it is read before it is written. So writes of one
//! process are made one group after the other (`commit/queue.rs`), and those of several processes
//! notice one another by preconditions.

mod merge;
mod read;
mod spread;

pub(crate) use merge::{How, merge};
pub(crate) use read::{Row, entries, row};
pub(crate) use spread::{DEPTH_MAX, entry_digit, leaf, spread_marker};
