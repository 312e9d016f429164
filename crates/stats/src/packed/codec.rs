//! Memory for decoding and encoding rows, which is used again for each row.

use super::column::ColumnWriter;
use super::paths::PathCache;

/// Memory for decoding and encoding rows.
#[derive(Default)]
pub(crate) struct Codec {
    pub(super) paths: PathCache,
    pub(super) columns: ColumnWriter,
    pub(super) integers: Vec<i64>,
    /// A part of a row, whose length precedes it.
    pub(super) part: Vec<u8>,
    /// Encoded buckets.
    pub(super) rows: Vec<u8>,
}
