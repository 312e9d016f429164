//! The data of reports.

use super::baseline::Baseline;
use super::{growth, raw_ratio, targets};
use crate::row::Row;

/// The content of a report.
pub struct Page<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// The rows to compare with.
    pub baseline: Option<&'a Baseline>,
    /// The command that measured the rows.
    pub command: &'a str,
}

/// A finding: how many rows meet a criterion, and the exceptions.
pub struct Finding {
    /// The title.
    pub title: &'static str,
    /// The number of rows that meet the criterion, as text.
    pub summary: String,
    /// The exceptions, grouped by reason.
    pub exceptions: Vec<(&'static str, Vec<String>)>,
}

impl Finding {
    /// Creates a finding; `exceptions` are reasons with rows.
    pub fn new(
        title: &'static str,
        summary: String,
        exceptions: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let mut by_reason: Vec<(&'static str, Vec<String>)> = Vec::new();
        for (reason, what) in exceptions {
            match by_reason.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, all)) => all.push(what),
                None => by_reason.push((reason, vec![what])),
            }
        }
        Self {
            title,
            summary,
            exceptions: by_reason,
        }
    }
}

impl Page<'_> {
    /// The findings about targets, growth, and the raw engines.
    pub fn findings(&self) -> Vec<Finding> {
        vec![
            targets::finding(self.rows),
            growth::finding(self.rows),
            raw_ratio::finding(self.rows),
        ]
    }
}
