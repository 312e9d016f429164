//! Runs all sizes, and computes the ratios between them.

use std::path::PathBuf;

use super::rows::Rows;
use crate::output::Output;
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The parameters of the suite.
pub struct Scale {
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// The folder of the stores of the embedded driver; `None` for memory.
    pub folder: Option<PathBuf>,
}

/// Runs the suite. Fails at the first wrong result.
pub fn run(scale: &Scale, output: &mut Output) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for &size in &scale.sizes {
        let folder = match &scale.folder {
            Some(folder) => Some(
                tempfile::Builder::new()
                    .prefix("espalier-bench-")
                    .tempdir_in(folder)
                    .map_err(|error| {
                        Failure::usage(format!("the store cannot be created: {error}"))
                            .in_file(folder.display())
                    })?,
            ),
            None => None,
        };
        let mut emit = |row: Row| {
            output.add_row(&row)?;
            rows.push(row);
            Ok(())
        };
        let folder = folder.as_ref().map(|folder| folder.path());
        let mut of_size = Rows::new(size, folder, &mut emit)?;
        of_size.run()?;
    }
    for row in ratios(&rows) {
        output.add_row(&row)?;
    }
    Ok(())
}

/// The rows whose cost must not grow with the list.
const ONE_ENTRY_ROWS: [&str; 4] = ["get one", "set one", "page of 10", "restconf get one"];

/// The growth of each one-entry row from the smallest to the largest size.
fn ratios(rows: &[Row]) -> Vec<Row> {
    let smallest = rows.iter().map(|row| row.size).min();
    let largest = rows.iter().map(|row| row.size).max();
    let (Some(smallest), Some(largest)) = (smallest, largest) else {
        return Vec::new();
    };
    let of_largest = rows
        .iter()
        .filter(|row| row.size == largest && ONE_ENTRY_ROWS.contains(&row.row.as_str()));
    of_largest
        .filter_map(|large| {
            let small = rows.iter().find(|row| {
                row.size == smallest && row.row == large.row && row.durability == large.durability
            })?;
            let wall = large.median_s? / small.median_s?;
            let cpu = large.cpu_s? / small.cpu_s?;
            let mut row = Row {
                row: format!("ratio: {}", large.row),
                n: 0,
                median_s: None,
                min_s: None,
                p99_s: None,
                cpu_s: None,
                raw_s: None,
                note: format!(
                    "median x{wall:.2}, cpu x{cpu:.2} from {smallest} to {largest} entries"
                ),
                ..large.clone()
            };
            if let (Some(large), Some(small)) = (large.raw_s, small.raw_s) {
                row = row.note(format!("raw x{:.2}", large / small));
            }
            Some(row)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::fixture::SUITE;
    use super::*;
    use crate::harness::Timing;
    use crate::row::EngineLabels;

    fn row(name: &str, size: u64, seconds: f64) -> Row {
        let labels = EngineLabels {
            driver: "embedded".to_owned(),
            policy: "uncached",
            durability: "durable",
        };
        let timing = Timing::from_samples(vec![seconds], Duration::from_secs_f64(seconds));
        let row = Row::new(SUITE, name, labels, size).timed(&timing.expect("a sample"));
        row.note("a note of the row")
    }

    #[test]
    fn ratios_compare_the_smallest_with_the_largest() {
        let rows = [
            row("get one", 10, 2.0),
            row("load", 10, 1.0),
            row("get one", 1000, 3.0),
        ];
        let ratios = ratios(&rows);
        assert_eq!(ratios.len(), 1);
        assert_eq!(
            (ratios[0].row.as_str(), ratios[0].size),
            ("ratio: get one", 1000)
        );
        assert!(
            ratios[0].note.starts_with("median x1.50"),
            "{}",
            ratios[0].note
        );
        assert_eq!(ratios[0].median_s, None);
    }
}
