//! What reports are made of.

use super::baseline::Baseline;
use crate::bench::row::Row;

/// Everything that a report tells.
pub struct Page<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// What they are compared with.
    pub baseline: Option<&'a Baseline>,
    /// What was typed to have them.
    pub command: &'a str,
}
