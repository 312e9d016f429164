//! Rows that hold many buckets of one metric.
//!
//! A metric has one recent row with the newest buckets of every granularity (`recent.rs`), so a write changes one row
//! however many granularities there are. When a granularity has collected [`crate::limits::RECENT_BUCKETS_MAX`]
//! buckets there, the older ones move to block rows of [`crate::limits::BLOCK_BUCKETS`] buckets. In both, the values of
//! one path are a column (`column.rs`) of packed differences. A bucket with many values has rows of its own (`row/`),
//! as all buckets had in earlier versions. The measurements are in docs/decisions/0077.

mod bits;
mod codec;
mod column;
mod float_column;
mod integers;
mod paths;
mod recent;
mod table;
mod tier;

pub(crate) use codec::Codec;
pub(crate) use recent::Recent;
pub(crate) use table::{Fit, Table};
pub(crate) use tier::Tier;
