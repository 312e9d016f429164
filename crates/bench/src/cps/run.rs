//! Runs the rows.

use espalier_store::{Datastore, Tree};

use super::deletes::{Commits, Everything};
use super::devices::{BOOKS_MODEL, DEVICES_MODEL, FRAGMENTS};
use super::fixture::{Fixture, RowSpec, open};
use super::queries::{
    ANCESTORS, BY_STATE, BY_STATE_ANCESTORS, BY_STATUS, BY_STATUS_ANCESTORS, NOTHING, Query, TOP,
};
use super::reads::Descendants;
use super::updates::{AMONG, Devices, Replaced, changed, devices};
use super::{deletes, delta, queries, reads, updates, writes};
use crate::configuration::Configuration;
use crate::harness::{Repetitions, measure};
use crate::model_store::{Model, NAME};
use crate::output::Output;
use crate::row::Row;
use espalier_terminal::Result;

/// The parameters of the suite.
pub struct Cps {
    /// Numbers of devices, ascending.
    pub sizes: Vec<u64>,
    /// The configurations to measure.
    pub configurations: Vec<Configuration>,
}

/// Runs the suite. Fails at the first wrong result.
pub fn run(cps: &Cps, output: &mut Output) -> Result<()> {
    cps.configurations
        .iter()
        .try_for_each(|configuration| run_configuration(cps, configuration, output))
}

fn run_configuration(cps: &Cps, configuration: &Configuration, output: &mut Output) -> Result<()> {
    for &size in &cps.sizes {
        read_rows(configuration, size, output)?;
    }
    let largest = cps.sizes.last().copied().unwrap_or_default();
    let fragments_max = largest * FRAGMENTS;
    write_rows(configuration, fragments_max, output)?;
    if REPLACED * FRAGMENTS <= fragments_max {
        update_rows(configuration, output)?;
    }
    let mut sizes = cps.sizes.clone();
    sizes.extend((DELETED_AMONG < largest).then_some(DELETED_AMONG));
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        delete_rows(configuration, size, output)?;
    }
    delta_rows(configuration, largest.min(DELTA_MAX), output)
}

/// The number of anchors in one query.
const ANCHORS: usize = 3;

/// The measurement of a row.
type Measured = fn(&Fixture, RowSpec) -> Result<Row>;

/// Rows that read, in CPS' order.
const READS: [(&str, &str, Measured); 8] = [
    (
        "Read datatree with no descendants",
        "the container without descendants, as a tree in memory",
        reads::without_descendants,
    ),
    (
        "Read datatree with direct descendants",
        "the container and every device with its leaves, as a tree in memory",
        reads::direct_descendants,
    ),
    (
        "Read datatree with all descendants",
        "everything, as a tree in memory",
        reads::top_element,
    ),
    (
        "Read datatrees for multiple xpaths",
        "every device by its own path, parsed, from one view, as trees in memory",
        reads::many_paths,
    ),
    (
        "Read non-existing xpaths",
        "500 devices that do not exist, by paths that are parsed, from one view",
        reads::unknown_paths,
    ),
    (
        "Read datatrees using root",
        "everything, as a tree in memory",
        reads::root,
    ),
    (
        "Read datatrees using top element",
        "everything, as a tree in memory",
        reads::top_element,
    ),
    (
        "Read datatrees using whole list",
        "every device with its descendants, as a tree in memory",
        reads::whole_list,
    ),
];

/// Rows that query one anchor, in CPS' order.
const QUERIES: [(&str, &str, Descendants); 11] = [
    ("Query 1 anchor top element", TOP, Descendants::All),
    ("Query 1 anchor leaf condition", BY_STATE, Descendants::All),
    ("Query 1 anchor ancestors", ANCESTORS, Descendants::All),
    (
        "Query 1 anchor leaf condition + ancestors",
        BY_STATUS_ANCESTORS,
        Descendants::All,
    ),
    (
        "Query 1 anchor non-existing data",
        NOTHING,
        Descendants::All,
    ),
    ("Query with no descendants", BY_STATUS, Descendants::None),
    (
        "Query with direct descendants",
        BY_STATUS,
        Descendants::Direct,
    ),
    ("Query with all descendants", BY_STATUS, Descendants::All),
    (
        "Query ancestors with no descendants",
        BY_STATE_ANCESTORS,
        Descendants::None,
    ),
    (
        "Query ancestors with direct descendants",
        BY_STATE_ANCESTORS,
        Descendants::Direct,
    ),
    (
        "Query ancestors with all descendants",
        BY_STATE_ANCESTORS,
        Descendants::All,
    ),
];

/// Rows that query several anchors, in CPS' order.
const ACROSS: [(&str, &str); 4] = [
    ("Query across anchors top element", TOP),
    ("Query across anchors leaf condition", BY_STATE),
    ("Query across anchors ancestors", ANCESTORS),
    (
        "Query across anchors leaf condition + ancestors",
        BY_STATUS_ANCESTORS,
    ),
];

/// The number of distinct values of a leaf, by the number of devices.
type DistinctValues = fn(u64) -> u64;

/// Rows that list the values of a leaf.
const LEAVES: [(&str, &str, DistinctValues); 3] = [
    ("Query data leaf unique leaf value", "device-id", |size| {
        size
    }),
    ("Query data leaf common leaf value", "ne-state", |_| 1),
    (
        "Query data leaf non-existing data leaf",
        "non-existing",
        |_| 0,
    ),
];

const QUERIED: &str = "the expression is parsed, the selected nodes are read as trees in memory";

/// Fills three anchors, then reads and queries them.
fn read_rows(configuration: &Configuration, size: u64, output: &mut Output) -> Result<()> {
    let mut fixture = open(configuration, DEVICES_MODEL, size)?;
    let store = fixture.store.tree.store().clone();
    let mut anchors = vec![fixture.store.tree.clone()];
    for number in 1..ANCHORS {
        let name = format!("{NAME}-{number}");
        store.create_anchor(NAME, &name, NAME)?;
        anchors.push(store.tree(NAME, &name, Datastore::Running)?);
    }
    output.add_row(&stored(&fixture, &anchors)?)?;
    fixture.attach_raw_client()?;
    for (row, note, measured) in READS {
        output.add_row(&measured(&fixture, RowSpec { row, note })?)?;
    }
    let spec = |row| RowSpec { row, note: QUERIED };
    for (row, text, descendants) in QUERIES {
        let query = Query { text, descendants };
        let row = queries::one_anchor(&fixture, spec(row), query)?;
        output.add_row(&row.note(text))?;
    }
    for (row, text) in ACROSS {
        let descendants = Descendants::All;
        let query = Query { text, descendants };
        let row = queries::across_anchors(&fixture, spec(row), &anchors, query)?;
        output.add_row(&row.note(format!("{text} in {ANCHORS} anchors, one after the other")))?;
    }
    let note = "the distinct values that an expression selects, parsed each time";
    for (row, leaf, expected) in LEAVES {
        let spec = RowSpec { row, note };
        output.add_row(&queries::leaf_values(&fixture, spec, leaf, expected(size))?)?;
    }
    Ok(())
}

/// Measures storing devices in every anchor.
fn stored(fixture: &Fixture, anchors: &[Tree]) -> Result<Row> {
    let spec = RowSpec {
        row: "Creating anchors with large data tree",
        note: "JSON documents loaded into three anchors, each in one commit",
    };
    let timing = measure(
        Repetitions::once(),
        |_| anchors.iter().try_for_each(|tree| fixture.load(tree)),
        |_, ()| Ok(()),
    )?;
    let raw = fixture.store.raw_load()?;
    Ok(fixture.row(spec).timed(&timing).raw(raw.as_ref()))
}

/// A row that stores: title, numbers of devices or books, description, measurement, and model.
type Stored = (&'static str, &'static [u64], &'static str, Measured, Model);

/// All rows that store, in CPS' order.
const WRITES: [Stored; 4] = [
    (
        "Writing devices",
        &[50, 100, 200, 400],
        "a JSON document is parsed and committed to an empty anchor",
        writes::devices,
        DEVICES_MODEL,
    ),
    (
        "Writing books",
        &[800, 1_600, 3_200, 6_400],
        "a JSON document is parsed and committed under one category",
        writes::all_books,
        BOOKS_MODEL,
    ),
    (
        "Creating 33,000 books",
        &[33_000],
        "330 JSON documents of 100 books are parsed and committed, one after the other",
        writes::books_in_parts,
        BOOKS_MODEL,
    ),
    (
        "Saving list of devices",
        &[50, 100, 200, 400],
        "a JSON document is parsed and its devices committed to the list",
        writes::list_of_devices,
        DEVICES_MODEL,
    ),
];

/// Measures the rows that store at most `fragments_max` fragments.
fn write_rows(
    configuration: &Configuration,
    fragments_max: u64,
    output: &mut Output,
) -> Result<()> {
    for (row, sizes, note, measured, model) in WRITES {
        let fragments = match model.name == DEVICES_MODEL.name {
            true => FRAGMENTS,
            false => 1,
        };
        for &size in sizes
            .iter()
            .filter(|&size| size * fragments <= fragments_max)
        {
            let fixture = open(configuration, model, size)?;
            output.add_row(&measured(&fixture, RowSpec { row, note })?)?;
        }
    }
    Ok(())
}

/// The number of replaced devices.
const REPLACED: u64 = 100;

fn update_rows(configuration: &Configuration, output: &mut Output) -> Result<()> {
    let all = || devices(0..REPLACED);
    let half = REPLACED / 2;
    let none = || devices(0..0);
    let (new, half_new) = (
        devices(REPLACED..2 * REPLACED),
        devices(half..REPLACED + half),
    );
    let node = Replaced::Node;
    let list = Replaced::List;
    let rows: [(&str, Replaced, Devices, Devices); 12] = [
        ("Replace 0 nodes with 100", node, none(), all()),
        ("Replace 100 using same data", node, all(), all()),
        (
            "Replace 100 with new leaf values",
            node,
            all(),
            changed(0..REPLACED),
        ),
        ("Replace 100 with 100 new nodes", node, all(), new.clone()),
        (
            "Replace 50 existing and 50 new",
            node,
            all(),
            half_new.clone(),
        ),
        ("Replace 100 nodes with 0", node, all(), none()),
        ("Replace list of 0 with 100", list, none(), all()),
        ("Replace list of 100 using same data", list, all(), all()),
        (
            "Replace list of 100 with new leaf values",
            list,
            all(),
            changed(0..REPLACED),
        ),
        ("Replace list with 100 new nodes", list, all(), new),
        (
            "Replace list with 50 existing and 50 new",
            list,
            all(),
            half_new,
        ),
        (
            "Replace list of 100 nodes with 1",
            list,
            all(),
            devices(0..1),
        ),
    ];
    let fixture = open(configuration, DEVICES_MODEL, REPLACED)?;
    for (row, replaced, before, after) in rows {
        let note = match replaced {
            Replaced::Node => "a JSON document is parsed and replaces the container, in one commit",
            Replaced::List => {
                "a JSON document is parsed; the list is removed and recreated, in one commit"
            }
        };
        let row = updates::replacing(&fixture, RowSpec { row, note }, replaced, &before, &after)?;
        output.add_row(&row)?;
    }
    let fixture = open(configuration, DEVICES_MODEL, AMONG)?;
    let spec = RowSpec {
        row: "Update leaves for 100 data nodes",
        note: "two leaves of each of 100 among 200 devices, by paths that are parsed, in one commit",
    };
    output.add_row(&updates::leaves(&fixture, spec)?)
}

/// The number of devices among which CPS deletes.
const DELETED_AMONG: u64 = 300;

fn delete_rows(configuration: &Configuration, size: u64, output: &mut Output) -> Result<()> {
    let fixture = open(configuration, DEVICES_MODEL, size)?;
    fixture.load(&fixture.store.tree)?;
    let rows = [
        ("Delete 100 containers", "/equipment", Commits::Each),
        ("Batch delete 100 containers", "/equipment", Commits::One),
        ("Delete 100 lists elements", "", Commits::Each),
        ("Batch delete 100 lists elements", "", Commits::One),
        ("Delete 100 whole lists", "/equipment/degree", Commits::Each),
        (
            "Batch delete 100 whole lists",
            "/equipment/degree",
            Commits::One,
        ),
    ];
    for (row, relative_path, commits) in rows {
        let note = match commits {
            Commits::Each => "by paths that are parsed, a commit for each",
            Commits::One => "by paths that are parsed, in one commit",
        };
        output.add_row(&deletes::nodes(
            &fixture,
            RowSpec { row, note },
            relative_path,
            commits,
        )?)?;
    }
    let spec = RowSpec {
        row: "Batch delete 100 non-existing data nodes",
        note: "by paths that are parsed, in one commit, which is rejected with 100 errors",
    };
    output.add_row(&deletes::missing(&fixture, spec)?)?;
    let large = [
        (
            "Delete one large node",
            "the container of all devices",
            Everything::Node,
        ),
        (
            "Delete root node",
            "everything is replaced by nothing",
            Everything::Root,
        ),
    ];
    for (row, note, what) in large {
        output.add_row(&deletes::everything(&fixture, RowSpec { row, note }, what)?)?;
    }
    Ok(())
}

/// The largest number of devices compared, which is that of CPS.
const DELTA_MAX: u64 = 1_000;

fn delta_rows(configuration: &Configuration, size: u64, output: &mut Output) -> Result<()> {
    let mut fixture = open(configuration, DEVICES_MODEL, size)?;
    let spec = RowSpec {
        row: "Delta of 2 anchors no grouping all descendants",
        note: "one call, compared with a tenth of CPS' ten; two versions of one anchor, as a list of changes in memory",
    };
    output.add_row(&delta::versions(&mut fixture, spec)?)?;
    let fixture = open(configuration, DEVICES_MODEL, size)?;
    let spec = RowSpec {
        row: "Apply delta report to an anchor",
        note: "startup is copied to running: the differences are computed and committed",
    };
    output.add_row(&delta::apply(&fixture, spec)?)
}
