//! Why rows grow, are far from the raw engine, or miss their target: `data/reasons.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::row::Row;

/// What a reason explains.
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
    /// For a row that has no reason of its own.
    otherwise: String,
    reasons: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    about: FindingKind,
    text: String,
    /// For each suite, what the names of the rows begin with.
    rows: HashMap<String, Vec<String>>,
}

static REASONS: LazyLock<Reasons> = LazyLock::new(|| {
    // A test reads the file.
    toml::from_str(include_str!("../../data/reasons.toml")).unwrap_or_default()
});

/// The reason of a row: of those that fit, the one with the longest beginning of its name.
pub fn of(kind: FindingKind, row: &Row) -> &'static str {
    let reasons = REASONS.reasons.iter();
    let fitting = reasons
        .filter(|reason| reason.about == kind)
        .filter_map(|reason| Some((reason.length_for(row)?, reason)));
    match fitting.max_by_key(|(length, _)| *length) {
        Some((_, reason)) => &reason.text,
        None => &REASONS.otherwise,
    }
}

impl Reason {
    /// The length of the longest beginning that a row's name has.
    fn length_for(&self, row: &Row) -> Option<usize> {
        let beginnings = self.rows.get(&*row.suite)?.iter();
        let fitting = beginnings.filter(|beginning| row.row.starts_with(*beginning));
        fitting.map(String::len).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_wins() {
        let row = |name: &str| Row::example("clixon", name, "embedded", 1_000, 1.0);
        let reason = |name| of(FindingKind::Raw, &row(name));
        assert!(reason("GET all").contains("written as text"));
        assert!(reason("GET 1").contains("HTTP"));
        assert_eq!(reason("nothing"), REASONS.otherwise);
        assert!(!REASONS.otherwise.is_empty());
        assert_eq!(of(FindingKind::Growth, &row("GET all")), REASONS.otherwise);
    }
}
