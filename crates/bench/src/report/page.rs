//! What reports are made of.

use super::baseline::Baseline;
use super::{growth, raw_ratio, targets};
use crate::row::Row;

/// Everything that a report tells.
pub struct Page<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// What they are compared with.
    pub baseline: Option<&'a Baseline>,
    /// What was typed to have them.
    pub command: &'a str,
}

/// What is found in the rows about one thing.
pub struct Finding {
    /// What it is about.
    pub title: &'static str,
    /// How many rows are as they should be.
    pub summary: String,
    /// The other rows by reason, the reason first.
    pub exceptions: Vec<(&'static str, Vec<String>)>,
}

impl Finding {
    /// A finding; `exceptions` are rows with their reasons.
    pub fn new(
        title: &'static str,
        summary: String,
        exceptions: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let mut by_reason: Vec<(&'static str, Vec<String>)> = Vec::new();
        for (reason, what) in exceptions {
            match by_reason.iter_mut().find(|(known, _)| *known == reason) {
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
    /// What the rows say of the targets, of growth, and of the raw engines.
    pub fn findings(&self) -> Vec<Finding> {
        vec![
            targets::finding(self.rows),
            growth::finding(self.rows),
            raw_ratio::finding(self.rows),
        ]
    }
}
