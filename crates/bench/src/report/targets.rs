//! Performance targets of rows (`data/targets.toml`), and whether they are met.

use std::sync::LazyLock;

use serde::Deserialize;

use super::page::Finding;
use super::reasons::{self, FindingKind};
use crate::output::duration;
use crate::row::Row;

/// The target of some rows.
#[derive(Debug, Deserialize)]
struct Target {
    suite: String,
    /// Row names; a name that ends with an asterisk is a prefix.
    rows: Vec<String>,
    /// The prefix and the suffix of the engine.
    #[serde(default)]
    engine: (String, String),
    /// The size at which the target applies.
    size: u64,
    #[serde(flatten)]
    bound: Bound,
}

/// The upper bound of a target.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", untagged)]
enum Bound {
    /// An absolute time.
    Within { seconds: f64 },
    /// A fraction of the first other system's time: at most its time divided by this.
    Peer { peer: f64 },
    /// A multiple of the time of the engine's own client for the same reads and writes.
    Raw { raw: f64 },
    /// A multiple of the time of the same row in memory.
    Memory { memory: f64 },
    /// A multiple of the time of another row of the same engine and size.
    Row { row: String, times: f64 },
}

#[derive(Debug, Default, Deserialize)]
struct Targets {
    targets: Vec<Target>,
}

static TARGETS: LazyLock<Targets> = LazyLock::new(|| {
    // A test parses the file.
    toml::from_str(include_str!("../../data/targets.toml")).unwrap_or_default()
});

/// The finding about the targets of the measured rows.
pub fn finding(rows: &[Row]) -> Finding {
    let checked = TARGETS.targets.iter().flat_map(|target| {
        let of_target = rows.iter().filter(|row| target.is_of(row));
        of_target.filter_map(|row| Some((row, target.check(row, rows)?)))
    });
    let (mut met, mut all, mut exceptions) = (0, 0, Vec::new());
    for (row, missed) in checked {
        all += 1;
        match missed {
            None => met += 1,
            Some(what) => exceptions.push((reasons::of(FindingKind::Target, row), what)),
        }
    }
    let summary = format!("{met} of {all} rows with a target meet it");
    Finding::new("Targets", summary, exceptions)
}

impl Target {
    fn is_of(&self, row: &Row) -> bool {
        let engine = row.engine();
        let is_named = self.rows.iter().any(|name| match name.strip_suffix('*') {
            Some(start) => row.row.starts_with(start),
            None => row.row == *name,
        });
        row.suite == self.suite
            && row.size == self.size
            && is_named
            && engine.starts_with(&self.engine.0)
            && engine.ends_with(&self.engine.1)
    }

    /// Compares a row with the target: `None` if it cannot be compared, `Some(None)` if it meets the target,
    /// otherwise a description.
    fn check(&self, row: &Row, rows: &[Row]) -> Option<Option<String>> {
        let median = row.median_s?;
        let other_median = |is_other: &dyn Fn(&Row) -> bool| {
            let mut found = rows.iter().filter(|other| {
                other.suite == row.suite && other.size == row.size && is_other(other)
            });
            found.find_map(|other| other.median_s)
        };
        let (figure, limit, what) = match &self.bound {
            &Bound::Within { seconds } => (median, seconds, String::new()),
            &Bound::Peer { peer: times } => {
                let peer = row.peer.first()?;
                let ours = row.seconds_comparable_to(peer)?;
                (
                    ours,
                    peer.seconds / times,
                    format!(", x{times} less than {}", peer.name),
                )
            }
            &Bound::Raw { raw: times } => {
                let raw = row.raw_s?;
                (median, raw * times, format!(", x{times} of the raw engine"))
            }
            Bound::Row { row: name, times } => {
                let other =
                    other_median(&|other| other.row == *name && other.engine() == row.engine())?;
                (median, other * times, format!(", x{times} of {name:?}"))
            }
            &Bound::Memory { memory: times } => {
                let other =
                    other_median(&|other| other.row == row.row && other.driver == "memory")?;
                (median, other * times, format!(", x{times} of memory"))
            }
        };
        let message = || {
            format!(
                "{}: {}, {}, {}: {}; the target is at most {}{what}",
                row.suite,
                row.row,
                row.engine(),
                row.size,
                duration(Some(figure)),
                duration(Some(limit))
            )
        };
        Some((figure > limit).then(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_parsed() {
        let text = include_str!("../../data/targets.toml");
        let targets: Targets = toml::from_str(text).expect("targets");
        assert_eq!(targets.targets.len(), text.matches("[[targets]]").count());
        assert!(!TARGETS.targets.is_empty());
    }

    #[test]
    fn a_missed_target_is_reported_with_its_reason() {
        let row = |name: &str, driver: &str, size, seconds| {
            Row::example("dodb", name, driver, size, seconds)
        };
        let rows = [
            row("get by index", "embedded", 250_000, 2e-6),
            row("partition", "embedded", 5_000, 8e-3),
            row("partition", "embedded", 4_000, 8e-3),
        ];
        let finding = finding(&rows);
        assert_eq!(finding.summary, "1 of 2 rows with a target meet it");
        let [(reason, whats)] = finding.exceptions.as_slice() else {
            panic!("{:?}", finding.exceptions);
        };
        assert!(reason.contains("JSON"), "{reason}");
        assert!(
            whats[0].contains("8.00 ms; the target is at most 5.00 ms"),
            "{whats:?}"
        );
    }
}
