//! The row that opens a store.

use std::cell::Cell;

use espalier_store::Selection;

use super::fixture::{Fixture, RowSpec, expect_entry, path_of, xml};
use crate::harness::{Repetitions, measure};
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The name and the note of the row.
const STARTUP: RowSpec = RowSpec {
    row: "startup",
    note: "in this process: engine and store are opened, the model is compiled, and one entry is read",
};

/// The number of repetitions.
const TIMES: u64 = 10;

/// Closes the store, then measures opening it and reading the first entry.
pub fn startup(fixture: Fixture) -> Result<Row> {
    let entry = fixture.entry(0);
    let empty = fixture.row(STARTUP);
    let closed = Cell::new(Some(fixture.close()));
    let timing = measure(
        Repetitions::few(TIMES),
        |_| {
            let closed = closed.take();
            let closed = closed.ok_or_else(|| Failure::data("the store is not closed"))?;
            let store = closed.open()?;
            let path = store.path(&path_of(entry))?;
            let xml = xml(&store.tree, &path, &Selection::default())?;
            Ok((store, xml))
        },
        |_, (store, xml)| {
            closed.set(Some(store.close()));
            expect_entry(&xml, entry, &entry.to_string())
        },
    )?;
    Ok(empty.timed(&timing))
}
