//! The reasons why rows grow, are far from the raw engine, or miss their target: `data/reasons.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::row::Row;

/// The finding that a reason explains.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// More than twice the time for each tenfold size.
    Growth,
    /// More than five times the raw engine.
    Raw,
    /// A missed target.
    Target,
}

#[derive(Debug, Default, Deserialize)]
struct Reasons {
    /// The reason for rows that have none.
    otherwise: String,
    reasons: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    about: FindingKind,
    text: String,
    /// For each suite, prefixes of row names.
    rows: HashMap<String, Vec<String>>,
}

static REASONS: LazyLock<Reasons> = LazyLock::new(|| {
    // A test parses the file.
    toml::from_str(include_str!("../../data/reasons.toml")).unwrap_or_default()
});

/// The reason for a row; if several match, the one with the longest prefix of its name.
pub fn of(kind: FindingKind, row: &Row) -> &'static str {
    let reasons = REASONS.reasons.iter();
    let matching = reasons
        .filter(|reason| reason.about == kind)
        .filter_map(|reason| Some((reason.length_for(row)?, reason)));
    match matching.max_by_key(|(length, _)| *length) {
        Some((_, reason)) => &reason.text,
        None => &REASONS.otherwise,
    }
}

impl Reason {
    /// The length of the longest prefix that matches the row's name.
    fn length_for(&self, row: &Row) -> Option<usize> {
        let prefixes = self.rows.get(&*row.suite)?.iter();
        let matching = prefixes.filter(|prefix| row.row.starts_with(*prefix));
        matching.map(String::len).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins() {
        let row = |name: &str| Row::example("clixon", name, "embedded", 1_000, 1.0);
        let reason = |name| of(FindingKind::Raw, &row(name));
        assert!(reason("GET all").contains("prints it as text"));
        assert!(reason("GET 1").contains("HTTP"));
        assert_eq!(reason("nothing"), REASONS.otherwise);
        assert!(!REASONS.otherwise.is_empty());
        assert_eq!(of(FindingKind::Growth, &row("GET all")), REASONS.otherwise);
    }
}
