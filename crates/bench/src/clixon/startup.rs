//! The row of a store that is opened.

use std::cell::Cell;

use espalier_store::Selection;

use super::bed::{About, Bed, expect_entry, path_of, xml};
use crate::harness::{Plan, measure};
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// What is about it.
const ABOUT: About = About {
    row: "startup",
    note: "in this process: engine and store are opened, the model is compiled, and one entry is read",
};

/// How often it is opened.
const TIMES: u64 = 10;

/// The store is closed, and opened again with the first entry read.
pub fn startup(bed: Bed) -> Result<Row> {
    let entry = bed.entry(0);
    let empty = bed.row(ABOUT);
    let closed = Cell::new(Some(bed.close()));
    let timing = measure(
        Plan::few(TIMES),
        |_| {
            let closed = closed.take();
            let closed = closed.ok_or_else(|| Failure::data("the store is not closed"))?;
            let stand = closed.open()?;
            let path = stand.path(&path_of(entry))?;
            let xml = xml(&stand.tree, &path, &Selection::default())?;
            Ok((stand, xml))
        },
        |_, (stand, xml)| {
            closed.set(Some(stand.close()));
            expect_entry(&xml, entry, &entry.to_string())
        },
    )?;
    Ok(empty.timed(&timing))
}
