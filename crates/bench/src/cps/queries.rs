//! Rows that query by expressions, and read the selected nodes.

use std::collections::BTreeSet;

use espalier_store::Tree;
use espalier_yang::InstancePath;
use espalier_yang::data::DataTree;

use super::devices::{DEVICES_MODEL, FRAGMENTS};
use super::fixture::{Fixture, RowSpec};
use super::reads::{Descendants, expect_fragments, read};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// An expression, and the descendants to read of each selected node.
#[derive(Clone, Copy)]
pub struct Query {
    /// The expression.
    pub text: &'static str,
    /// The descendants to read of each node.
    pub descendants: Descendants,
}

/// The container of all devices.
pub const TOP: &str = "/devices";

/// Devices selected by a leaf.
pub const BY_STATE: &str = "//device[ne-state='inservice']";

/// Devices selected by another leaf.
pub const BY_STATUS: &str = "//device[status='success']";

/// The ancestors of devices.
pub const ANCESTORS: &str = "//device/ancestor::devices";

/// The ancestors of devices selected by a leaf.
pub const BY_STATUS_ANCESTORS: &str = "//device[status='success']/ancestor::devices";

/// The ancestors of devices selected by another leaf.
pub const BY_STATE_ANCESTORS: &str = "//device[ne-state='inservice']/ancestor::devices";

/// An expression that selects nothing.
pub const NOTHING: &str = "/path/to/non-existing/node[id='1']";

fn run_query(tree: &Tree, query: Query) -> Result<Vec<DataTree>> {
    let view = tree.view()?;
    let found = DEVICES_MODEL.select(&view, query.text)?;
    let paths: Vec<InstancePath> = found.into_iter().map(|found| found.path).collect();
    read(&view, &paths, query.descendants)
}

/// The number of fragments read for a query.
fn expected_fragments(size: u64, query: Query) -> u64 {
    let is_top = query.text == TOP || query.text.ends_with("::devices");
    match (is_top, query.descendants) {
        _ if query.text == NOTHING => 0,
        (true, Descendants::All) => 1 + size * FRAGMENTS,
        (true, Descendants::Direct) => 1 + size,
        (true, Descendants::None) => 1,
        (false, Descendants::All) => size * FRAGMENTS,
        (false, Descendants::Direct) => 2 * size,
        (false, Descendants::None) => size,
    }
}

/// Queries one anchor.
pub fn one_anchor(fixture: &Fixture, spec: RowSpec, query: Query) -> Result<Row> {
    let expected = expected_fragments(fixture.size, query);
    let plan = match expected {
        0 => fixture.one_entry_repetitions(),
        _ => fixture.all_entries_repetitions(),
    };
    fixture.measure_read(
        spec,
        plan,
        || run_query(&fixture.store.tree, query),
        |trees| expect_fragments(&trees, expected),
    )
}

/// Queries several anchors, one after the other.
pub fn across_anchors(
    fixture: &Fixture,
    spec: RowSpec,
    anchors: &[Tree],
    query: Query,
) -> Result<Row> {
    let expected = anchors.len() as u64 * expected_fragments(fixture.size, query);
    fixture.measure_read(
        spec,
        fixture.all_entries_repetitions(),
        || {
            let results = anchors.iter().map(|tree| run_query(tree, query));
            let results = results.collect::<Result<Vec<_>>>()?;
            Ok(results.into_iter().flatten().collect::<Vec<_>>())
        },
        |trees| expect_fragments(&trees, expected),
    )
}

/// Lists the distinct values of a leaf of all devices.
pub fn leaf_values(fixture: &Fixture, spec: RowSpec, leaf: &str, expected: u64) -> Result<Row> {
    let text = format!("/devices/device/{leaf}");
    fixture.measure_read(
        spec,
        fixture.all_entries_repetitions(),
        || {
            let found = DEVICES_MODEL.select(&fixture.store.tree.view()?, &text)?;
            let values = found.into_iter().filter_map(|found| found.value);
            let values: BTreeSet<_> = values.map(|value| value.to_string()).collect();
            Ok(values)
        },
        |values| {
            let found = values.len() as u64;
            expect(found == expected, || format!("{found} values of {leaf}"))
        },
    )
}
