//! The baseline: rows of an earlier run to compare with.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The factor that distinguishes a change from noise: a row is slower if its minimum exceeds the earlier median by
/// this factor, and faster if its median is below the earlier minimum by this factor.
const FACTOR: f64 = 1.25;

/// Rows of an earlier `--json`.
pub struct Baseline {
    rows: HashMap<Key, Row>,
}

type Key = ([String; 5], u64);

/// The change of a row since the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaselineChange {
    /// Slower, by this factor of the medians.
    Slower(f64),
    /// Faster, likewise.
    Faster(f64),
    /// No difference larger than the noise.
    Same(f64),
}

impl Baseline {
    /// Reads the rows.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is not a row; the error names the line.
    pub fn read(file: &Path) -> Result<Self> {
        let rows = rows_of(file)?.into_iter();
        let rows = rows.map(|row| (key(&row), row)).collect();
        Ok(Self { rows })
    }

    /// Compares a row with the baseline; `None` if the baseline does not have it.
    pub fn compare(&self, row: &Row) -> Option<BaselineChange> {
        let earlier = self.rows.get(&key(row))?;
        let (median, min) = (row.median_s?, row.min_s?);
        let (earlier_median, earlier_min) = (earlier.median_s?, earlier.min_s?);
        Some(if min > earlier_median * FACTOR {
            BaselineChange::Slower(median / earlier_median)
        } else if median * FACTOR < earlier_min {
            BaselineChange::Faster(earlier_median / median)
        } else {
            BaselineChange::Same(median / earlier_median)
        })
    }

    /// The rows that became slower or faster, as text.
    pub fn summary(&self, rows: &[Row]) -> String {
        let (mut text, mut same) = (String::new(), 0);
        for row in rows {
            let what = match self.compare(row) {
                Some(BaselineChange::Slower(factor)) => format!("x{factor:.2} SLOWER"),
                Some(BaselineChange::Faster(factor)) => format!("x{factor:.2} faster"),
                Some(BaselineChange::Same(_)) => {
                    same += 1;
                    continue;
                }
                None => continue,
            };
            let (suite, name, engine, size) = (&row.suite, &row.row, row.engine(), row.size);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{what}: {suite}: {name}, {engine}, {size}");
        }
        let _ = writeln!(text, "{same} rows unchanged, within the noise");
        text
    }
}

fn key(row: &Row) -> Key {
    (row.key().map(str::to_owned), row.size)
}

/// Reads the rows that an earlier `--json` wrote.
///
/// # Errors
/// The file cannot be read, or a line of it is not a row; the error names the line.
pub fn rows_of(file: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(error.to_string()).in_file(file.display()))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty());
    let row = |(number, line)| {
        serde_json::from_str(line).map_err(|error| {
            let message = format!("line {}: not a row of a bench: {error}", number + 1);
            Failure::usage(message).in_file(file.display())
        })
    };
    lines.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(min: f64, median: f64) -> Row {
        let mut row = Row::example("scale", "get", "memory", 10, median);
        row.min_s = Some(min);
        row
    }

    #[test]
    fn only_changes_beyond_the_noise_are_reported() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let line = serde_json::to_string(&row(1.0, 1.2)).expect("JSON");
        std::fs::write(file.path(), format!("{line}\n\n")).expect("written");
        let baseline = Baseline::read(file.path()).expect("rows");
        assert_eq!(
            baseline.compare(&row(1.3, 1.4)),
            Some(BaselineChange::Same(1.4 / 1.2))
        );
        assert_eq!(
            baseline.compare(&row(2.0, 2.4)),
            Some(BaselineChange::Slower(2.0))
        );
        assert_eq!(
            baseline.compare(&row(0.5, 0.6)),
            Some(BaselineChange::Faster(2.0))
        );
        let mut other = row(9.0, 9.0);
        other.size = 11;
        assert_eq!(baseline.compare(&other), None);
        let text = baseline.summary(&[row(2.0, 2.4), row(1.0, 1.2)]);
        assert!(
            text.contains("x2.00 SLOWER: scale: get") && text.contains("1 rows"),
            "{text}"
        );
        std::fs::write(file.path(), "{}\n").expect("written");
        let error = Baseline::read(file.path()).err().expect("no row");
        assert!(error.to_string().contains("line 1"), "{error}");
    }
}
