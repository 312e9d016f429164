//! How work on one entry grows with the list it is in.
//!
//! For each size: load, read, change, page and delete, on the store and on the raw engine; then
//! the ratio of each one-entry row between the smallest and the largest size.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{Datastore, LoadMode, LoadOptions, LoadReport, Store, SystemClock, Tree};
use espalier_yang::data::{ParseOptions, Root};

use super::dataset::{self, Nodes};
use super::output::Output;
use super::recorder::Recorder;
use super::row::Row;
use super::scale_rows::Rows;
use espalier_terminal::document::{self, Format};
use espalier_terminal::{Failure, Result};

/// The suite's name in rows.
pub const SUITE: &str = "scale";

const NAME: &str = "bench";

/// What to measure.
pub struct Scale {
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// Where stores are made: a folder for the embedded driver; `None` for memory.
    pub folder: Option<PathBuf>,
}

/// An open store with the data of one size.
pub struct Bed {
    /// Notes what is asked of the driver.
    pub recorder: Arc<Recorder>,
    /// The data.
    pub tree: Tree,
    /// The nodes of its model.
    pub nodes: Nodes,
}

impl Bed {
    /// Opens the store at a URL; a new one is prepared for the bench's model.
    pub fn open(url: &str) -> Result<Self> {
        let driver = espalier_drivers::open(url)?;
        let recorder = Arc::new(Recorder::new(driver));
        let store = Store::open(
            Arc::clone(&recorder) as Arc<dyn Driver>,
            Arc::new(SystemClock),
        )?;
        if store.dataspaces()?.is_empty() {
            store.create_dataspace(NAME)?;
            store.create_schema_set(NAME, NAME, &dataset::source())?;
            store.create_anchor(NAME, NAME, NAME)?;
        }
        let tree = store.tree(NAME, NAME, Datastore::Running)?;
        let nodes = Nodes::of(tree.schema())?;
        Ok(Self {
            recorder,
            tree,
            nodes,
        })
    }

    /// Loads a file.
    pub fn load(&self, file: &Path) -> Result<LoadReport> {
        let name = file.display().to_string();
        let (mut input, _) = document::open(&name)?;
        let options = LoadOptions {
            mode: LoadMode::Create,
            author: NAME,
            ..LoadOptions::default()
        };
        let schema = Arc::clone(self.tree.schema());
        Ok(self.tree.load(options, &mut |sink| {
            let options = ParseOptions::default();
            document::parse(
                Format::Json,
                &schema,
                Root::Datastore,
                &mut input,
                sink,
                &options,
            )?;
            Ok(())
        })?)
    }
}

/// Runs the bench. Fails at the first wrong answer.
pub fn run(scale: &Scale, output: &mut Output) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for &size in &scale.sizes {
        let folder = match &scale.folder {
            Some(folder) => Some(
                tempfile::Builder::new()
                    .prefix("espalier-bench-")
                    .tempdir_in(folder)
                    .map_err(|error| {
                        Failure::usage(format!("no store can be made: {error}"))
                            .in_file(folder.display())
                    })?,
            ),
            None => None,
        };
        let mut emit = |row: Row| {
            output.row(&row)?;
            rows.push(row);
            Ok(())
        };
        let place = folder.as_ref().map(|folder| folder.path());
        let mut of_size = Rows::new(size, place, &mut emit)?;
        of_size.run()?;
    }
    for row in ratios(&rows) {
        output.row(&row)?;
    }
    Ok(())
}

/// The rows that must not grow with the list.
pub const ONE_ENTRY_ROWS: [&str; 4] = ["get one", "set one", "page of 10", "restconf get one"];

/// How each one-entry row grew from the smallest size to the largest.
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

    use super::*;
    use crate::harness::Timing;
    use crate::row::On;

    fn row(name: &str, size: u64, seconds: f64) -> Row {
        let on = On {
            driver: "embedded".to_owned(),
            policy: "uncached",
            durability: "durable",
        };
        let timing = Timing::of(vec![seconds], Duration::from_secs_f64(seconds));
        let row = Row::new(SUITE, name, on, size).timed(&timing.expect("a sample"));
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
