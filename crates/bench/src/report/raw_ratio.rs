//! The ratio of rows to the raw engine doing the same reads and writes.

use super::page::Finding;
use super::reasons::{self, FindingKind};
use super::summary::distinct;
use crate::row::Row;

/// The largest accepted ratio to the raw engine's time; rows above it are reported with a reason.
const RAW_RATIO_MAX: f64 = 5.0;

/// The finding about the raw engines; each row name is reported once.
pub fn finding(rows: &[Row]) -> Finding {
    let times = |row: &Row| Some(row.median_s? / row.raw_s.filter(|raw| *raw > 0.0)?);
    let far: Vec<(&Row, f64)> = rows
        .iter()
        .filter_map(|row| Some((row, times(row)?)))
        .filter(|(row, times)| *times > RAW_RATIO_MAX * (1.0 + row.noise()))
        .collect();
    let near = rows.iter().filter(|row| times(row).is_some()).count() - far.len();
    let summary = format!(
        "{near} rows take at most x{RAW_RATIO_MAX} (plus noise) of the raw engine's time for the same reads and writes"
    );
    let names = distinct(far.iter().map(|(row, _)| (&row.suite, &row.row)));
    let exceptions = names.into_iter().filter_map(|name| {
        let of_name = far.iter().filter(|(row, _)| (&row.suite, &row.row) == name);
        let (row, times) = of_name.max_by(|one, other| one.1.total_cmp(&other.1))?;
        let (engine, size) = (row.engine(), row.size);
        let what = format!(
            "{}: {}, at most x{times:.1} ({engine}, {size})",
            row.suite, row.row
        );
        Some((reasons::of(FindingKind::Raw, row), what))
    });
    Finding::new("Compared with the raw engine", summary, exceptions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_far_from_the_raw_engine_are_reported_once_with_their_reason() {
        let row = |name: &str, size, raw| {
            let mut row = Row::example("clixon", name, "memory", size, 1e-3);
            row.raw_s = raw;
            row
        };
        let rows = [
            row("GET 1", 100, Some(1e-4)),
            row("GET 1", 1_000, Some(1e-5)),
            row("read N", 100, Some(5e-4)),
            row("start", 100, None),
        ];
        let finding = finding(&rows);
        assert!(finding.summary.starts_with("1 rows"), "{}", finding.summary);
        let [(reason, whats)] = finding.exceptions.as_slice() else {
            panic!("{:?}", finding.exceptions);
        };
        assert!(reason.contains("HTTP"), "{reason}");
        assert_eq!(
            whats.as_slice(),
            ["clixon: GET 1, at most x100.0 (memory relaxed, 1000)"]
        );
    }
}
