//! Rows that read by paths, as trees in memory.

use espalier_store::{Selection, View};
use espalier_yang::data::{DataTree, TreeBuilder};
use espalier_yang::path::Fields;
use espalier_yang::{InstancePath, Schema};

use super::devices::{DEVICE, DEVICES, FRAGMENTS, fragments, path_of};
use super::fixture::{Fixture, RowSpec};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The descendants to read of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descendants {
    /// Only its leaves.
    None,
    /// Its leaves, and its child containers and entries with their leaves.
    Direct,
    /// Everything.
    All,
}

/// The leaves of a device.
const LEAVES: &str = "device-id;ne-state;commission-date-time;status";

impl Descendants {
    /// The selection for a path of the container or of devices.
    fn selection(self, schema: &Schema, path: &InstancePath) -> Result<Selection> {
        let is_container = path.steps.len() == 1;
        let fields = match (self, is_container) {
            (Self::None, false) => Some(LEAVES.to_owned()),
            (Self::Direct, true) => Some(format!("device({LEAVES})")),
            _ => None,
        };
        let parsed = fields.map(|text| Fields::parse(schema, path.target(), &text));
        let fields = parsed.transpose();
        let depth = match (self, is_container) {
            // The node is the first level, its leaves are the next.
            (Self::None, true) => Some(1),
            (Self::Direct, false) => Some(2),
            _ => None,
        };
        Ok(Selection {
            depth,
            fields: fields.map_err(|error| Failure::data(error.to_string()))?,
            ..Selection::default()
        })
    }
}

/// Reads the nodes at paths as trees. All paths are of the container, or all of devices.
pub fn read(
    view: &View,
    paths: &[InstancePath],
    descendants: Descendants,
) -> Result<Vec<DataTree>> {
    let Some(first) = paths.first() else {
        return Ok(Vec::new());
    };
    let selection = descendants.selection(view.schema(), first)?;
    let mut trees = Vec::new();
    for path in paths {
        let mut builder = TreeBuilder::new();
        if view.read(path, &selection, &mut builder)? {
            trees.push(builder.finish()?);
        }
    }
    Ok(trees)
}

/// Fails unless trees have the expected number of fragments.
pub fn expect_fragments(trees: &[DataTree], expected: u64) -> Result<()> {
    let found: u64 = trees.iter().map(|tree| fragments(&tree.nodes)).sum();
    expect(found == expected, || {
        format!("{found} fragments instead of {expected}")
    })
}

/// Measures reading one path, which is parsed each time.
fn one(
    fixture: &Fixture,
    spec: RowSpec,
    path: &str,
    descendants: Descendants,
    expected: u64,
) -> Result<Row> {
    let tree = &fixture.store.tree;
    let plan = match expected {
        1 => fixture.one_entry_repetitions(),
        _ => fixture.all_entries_repetitions(),
    };
    fixture.measure_read(
        spec,
        plan,
        || read(&tree.view()?, &[fixture.store.path(path)?], descendants),
        |trees| expect_fragments(&trees, expected),
    )
}

/// Reads the container without descendants.
pub fn without_descendants(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    one(fixture, spec, DEVICES, Descendants::None, 1)
}

/// Reads the container, and every device with its leaves.
pub fn direct_descendants(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    one(
        fixture,
        spec,
        DEVICES,
        Descendants::Direct,
        1 + fixture.size,
    )
}

/// Reads everything, by the path of the container.
pub fn top_element(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let expected = 1 + fixture.size * FRAGMENTS;
    one(fixture, spec, DEVICES, Descendants::All, expected)
}

/// Reads every device with its descendants.
pub fn whole_list(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let expected = fixture.size * FRAGMENTS;
    one(fixture, spec, DEVICE, Descendants::All, expected)
}

/// Reads everything, by the root path.
pub fn root(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let (tree, root) = (&fixture.store.tree, InstancePath::root());
    let expected = 1 + fixture.size * FRAGMENTS;
    fixture.measure_read(
        spec,
        fixture.all_entries_repetitions(),
        || read(&tree.view()?, std::slice::from_ref(&root), Descendants::All),
        |trees| expect_fragments(&trees, expected),
    )
}

/// Reads every device by its own path.
pub fn many_paths(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let paths: Vec<_> = (0..fixture.size).map(path_of).collect();
    let expected = fixture.size * FRAGMENTS;
    of_paths(fixture, spec, &paths, expected)
}

/// The number of paths of nonexistent devices.
const UNKNOWN: u64 = 500;

/// Reads devices that do not exist.
pub fn unknown_paths(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let numbers = fixture.size..fixture.size + UNKNOWN;
    let paths: Vec<_> = numbers.map(path_of).collect();
    of_paths(fixture, spec, &paths, 0)
}

fn of_paths(fixture: &Fixture, spec: RowSpec, texts: &[String], expected: u64) -> Result<Row> {
    let tree = &fixture.store.tree;
    let plan = match expected {
        0 => fixture.one_entry_repetitions(),
        _ => fixture.all_entries_repetitions(),
    };
    fixture.measure_read(
        spec,
        plan,
        || {
            let paths = texts.iter().map(|text| fixture.store.path(text));
            let paths = paths.collect::<Result<Vec<_>>>()?;
            read(&tree.view()?, &paths, Descendants::All)
        },
        |trees| expect_fragments(&trees, expected),
    )
}
