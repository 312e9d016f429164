//! Rows that write to running.

use espalier_store::Edit;
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{InstancePath, Value};

use super::bed::{About, Bed, Data, ROWS, STEPS, TABLES, commit, expect_entries};
use super::bed::{text_of_row, text_of_step};
use crate::dataset::expect;
use crate::stand::Stand;
use espalier_terminal::Result;

/// Row 6: a tree of N entries is built and merged.
pub fn create_batch(bed: &mut Bed<'_, '_>) -> Result<()> {
    bed.hold(Data::Nothing)?;
    let (size, nodes, plan) = (bed.size, bed.nodes, bed.all());
    let about = About {
        row: "create batch",
        note: "building the tree is measured too",
        plan,
    };
    bed.measure(
        about,
        |stand, _| {
            let edit = Edit::merge(InstancePath::root(), nodes.rows(size));
            commit(&stand.tree, &[edit])
        },
        |stand, ()| created(stand, ROWS, size),
    )?;
    emptied(bed)
}

/// The entries are there; they are deleted again.
fn created(stand: &Stand, list: &str, size: u64) -> Result<()> {
    let list = stand.path(list)?;
    expect_entries(&stand.tree, &list, size)?;
    commit(&stand.tree, &[Edit::delete(list)])
}

/// The container that is left goes.
fn emptied(bed: &mut Bed<'_, '_>) -> Result<()> {
    commit(&bed.stand.tree, &[Edit::delete(bed.stand.path(TABLES)?)])
}

/// Row 7: N leaves are set by their paths, in one commit; each creates its entry.
pub fn create_user_ordered_items(bed: &mut Bed<'_, '_>) -> Result<()> {
    create_items(bed, "create user ordered items", STEPS, text_of_step)
}

/// Row 8: the same in the list that is ordered by its keys.
pub fn create_all_items(bed: &mut Bed<'_, '_>) -> Result<()> {
    create_items(bed, "create all items", ROWS, text_of_row)
}

/// Said of rows that set N items.
pub const BY_PATHS: &str = "an edit for each path, parsed; one commit";

/// The edits that set N leaves, from the texts of their paths.
pub fn set_items(stand: &Stand, size: u64, path: fn(u64) -> String) -> Result<Vec<Edit>> {
    let mut edits = Vec::with_capacity(size as usize);
    for n in 0..size {
        edits.push(stand.set(&path(n), &format!("l{n}"))?);
    }
    Ok(edits)
}

fn create_items(
    bed: &mut Bed<'_, '_>,
    row: &str,
    list: &str,
    path: fn(u64) -> String,
) -> Result<()> {
    bed.hold(Data::Nothing)?;
    let (size, plan) = (bed.size, bed.all());
    let about = About {
        row,
        note: BY_PATHS,
        plan,
    };
    bed.measure(
        about,
        |stand, _| commit(&stand.tree, &set_items(stand, size, path)?),
        |stand, ()| created(stand, list, size),
    )?;
    emptied(bed)
}

/// Rows 11 and 18: the list is removed, the container stays.
pub fn remove_all_items(bed: &mut Bed<'_, '_>, row: &str, note: &str) -> Result<()> {
    remove(
        bed,
        About {
            row,
            note,
            plan: bed.all(),
        },
        ROWS,
    )
}

/// Rows 12 and 19: the container is removed with the list.
pub fn remove_whole_subtree(bed: &mut Bed<'_, '_>, row: &str, note: &str) -> Result<()> {
    remove(
        bed,
        About {
            row,
            note,
            plan: bed.all(),
        },
        TABLES,
    )
}

fn remove(bed: &mut Bed<'_, '_>, about: About<'_>, text: &str) -> Result<()> {
    bed.hold(Data::Rows)?;
    let (size, nodes) = (bed.size, bed.nodes);
    bed.measure(
        about,
        |stand, _| commit(&stand.tree, &[Edit::remove(stand.path(text)?)]),
        |stand, ()| {
            let path = stand.path(text)?;
            let is_there = stand.tree.view()?.has_content(&path)?;
            expect(!is_there, || format!("{text} is still there"))?;
            let again = Edit::merge(InstancePath::root(), nodes.rows(size));
            commit(&stand.tree, &[again])
        },
    )
}

fn expect_text(stand: &Stand, path: &str, wanted: Option<&str>) -> Result<()> {
    let found = stand.leaf(&stand.path(path)?)?;
    let wanted = wanted.map(Value::string);
    expect(found == wanted, || format!("{path} holds {found:?}"))
}

/// Rows 13 and 20: a leaf of the entry in the middle is created; it must not exist.
pub fn create_an_item(bed: &mut Bed<'_, '_>, row: &str, note: &str) -> Result<()> {
    bed.hold(Data::Rows)?;
    let (text, plan) = (text_of_row(bed.middle()), bed.one());
    let about = About { row, note, plan };
    let delete = |stand: &Stand| commit(&stand.tree, &[Edit::delete(stand.path(&text)?)]);
    let leaf = bed.nodes.row.3;
    delete(&bed.stand)?;
    bed.measure(
        about,
        |stand, _| {
            let path = stand.path(&text)?;
            let entry = path.parent().unwrap_or_default();
            let leaf = DataNode::new(leaf, Content::Value(Value::string("l0")));
            let tree = DataTree { nodes: vec![leaf] };
            commit(&stand.tree, &[Edit::create(entry, tree)])
        },
        |stand, ()| {
            expect_text(stand, &text, Some("l0"))?;
            delete(stand)
        },
    )?;
    let original = format!("l{}", bed.middle());
    commit(&bed.stand.tree, &[bed.stand.set(&text, &original)?])
}

/// Rows 15 and 21: the leaf of the entry in the middle gets another value.
pub fn modify_an_item(bed: &mut Bed<'_, '_>, row: &str, note: &str) -> Result<()> {
    bed.hold(Data::Rows)?;
    let (text, plan) = (text_of_row(bed.middle()), bed.one());
    let about = About { row, note, plan };
    let value = |call| format!("changed {call}");
    bed.measure(
        about,
        |stand, call| {
            commit(&stand.tree, &[stand.set(&text, &value(call))?])?;
            Ok(call)
        },
        |stand, call| expect_text(stand, &text, Some(&value(call))),
    )?;
    let original = format!("l{}", bed.middle());
    commit(&bed.stand.tree, &[bed.stand.set(&text, &original)?])
}

/// Rows 16 and 22: the leaf of the entry in the middle is removed.
pub fn remove_an_item(bed: &mut Bed<'_, '_>, row: &str, note: &str) -> Result<()> {
    bed.hold(Data::Rows)?;
    let (text, plan) = (text_of_row(bed.middle()), bed.one());
    let about = About { row, note, plan };
    let original = format!("l{}", bed.middle());
    bed.measure(
        about,
        |stand, _| commit(&stand.tree, &[Edit::remove(stand.path(&text)?)]),
        |stand, ()| {
            expect_text(stand, &text, None)?;
            commit(&stand.tree, &[stand.set(&text, &original)?])
        },
    )
}
