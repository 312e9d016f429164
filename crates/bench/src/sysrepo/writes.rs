//! Rows that write to running.

use espalier_store::Edit;
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{InstancePath, Value};

use super::fixture::{
    Fixture, ROWS, RowSpec, RunningContent, STEPS, TABLES, commit, expect_entries,
};
use super::fixture::{text_of_row, text_of_step};
use crate::dataset::expect;
use crate::model_store::ModelStore;
use espalier_terminal::Result;

/// Row 6: builds a tree of N entries and merges it.
pub fn create_batch(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Nothing)?;
    let (size, nodes, plan) = (
        fixture.size,
        fixture.nodes,
        fixture.all_entries_repetitions(),
    );
    let spec = RowSpec {
        row: "create batch",
        note: "building the tree is measured too",
        plan,
    };
    fixture.measure(
        spec,
        |store, _| {
            let edit = Edit::merge(InstancePath::root(), nodes.rows(size));
            commit(&store.tree, &[edit])
        },
        |store, ()| check_and_delete(store, ROWS, size),
    )?;
    delete_container(fixture)
}

/// Checks that the entries exist, and deletes them.
fn check_and_delete(store: &ModelStore, list: &str, size: u64) -> Result<()> {
    let list = store.path(list)?;
    expect_entries(&store.tree, &list, size)?;
    commit(&store.tree, &[Edit::delete(list)])
}

/// Deletes the remaining container.
fn delete_container(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    commit(
        &fixture.store.tree,
        &[Edit::delete(fixture.store.path(TABLES)?)],
    )
}

/// Row 7: sets N leaves by their paths, in one commit; each creates its entry.
pub fn create_user_ordered_items(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    create_items(fixture, "create user ordered items", STEPS, text_of_step)
}

/// Row 8: the same in the list that is ordered by its keys.
pub fn create_all_items(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    create_items(fixture, "create all items", ROWS, text_of_row)
}

/// The note of rows that set N items.
pub const BY_PATHS: &str = "an edit for each path, parsed; one commit";

/// The edits that set N leaves, from the texts of their paths.
pub fn set_items(store: &ModelStore, size: u64, path: fn(u64) -> String) -> Result<Vec<Edit>> {
    let mut edits = Vec::with_capacity(size as usize);
    for n in 0..size {
        edits.push(store.set(&path(n), &format!("l{n}"))?);
    }
    Ok(edits)
}

fn create_items(
    fixture: &mut Fixture<'_, '_>,
    row: &str,
    list: &str,
    path: fn(u64) -> String,
) -> Result<()> {
    fixture.fill_running(RunningContent::Nothing)?;
    let (size, plan) = (fixture.size, fixture.all_entries_repetitions());
    let spec = RowSpec {
        row,
        note: BY_PATHS,
        plan,
    };
    fixture.measure(
        spec,
        |store, _| commit(&store.tree, &set_items(store, size, path)?),
        |store, ()| check_and_delete(store, list, size),
    )?;
    delete_container(fixture)
}

/// Rows 11 and 18: removes the list; the container stays.
pub fn remove_all_items(fixture: &mut Fixture<'_, '_>, row: &str, note: &str) -> Result<()> {
    remove(
        fixture,
        RowSpec {
            row,
            note,
            plan: fixture.all_entries_repetitions(),
        },
        ROWS,
    )
}

/// Rows 12 and 19: removes the container with the list.
pub fn remove_whole_subtree(fixture: &mut Fixture<'_, '_>, row: &str, note: &str) -> Result<()> {
    remove(
        fixture,
        RowSpec {
            row,
            note,
            plan: fixture.all_entries_repetitions(),
        },
        TABLES,
    )
}

fn remove(fixture: &mut Fixture<'_, '_>, spec: RowSpec<'_>, text: &str) -> Result<()> {
    fixture.fill_running(RunningContent::Rows)?;
    let (size, nodes) = (fixture.size, fixture.nodes);
    fixture.measure(
        spec,
        |store, _| commit(&store.tree, &[Edit::remove(store.path(text)?)]),
        |store, ()| {
            let path = store.path(text)?;
            let is_there = store.tree.view()?.has_content(&path)?;
            expect(!is_there, || format!("{text} is still there"))?;
            let again = Edit::merge(InstancePath::root(), nodes.rows(size));
            commit(&store.tree, &[again])
        },
    )
}

fn expect_text(store: &ModelStore, path: &str, expected: Option<&str>) -> Result<()> {
    let found = store.leaf(&store.path(path)?)?;
    let expected = expected.map(Value::string);
    expect(found == expected, || format!("{path} holds {found:?}"))
}

/// Rows 13 and 20: creates a leaf of the middle entry; it must not exist.
pub fn create_an_item(fixture: &mut Fixture<'_, '_>, row: &str, note: &str) -> Result<()> {
    fixture.fill_running(RunningContent::Rows)?;
    let (text, plan) = (
        text_of_row(fixture.middle()),
        fixture.one_entry_repetitions(),
    );
    let spec = RowSpec { row, note, plan };
    let delete = |store: &ModelStore| commit(&store.tree, &[Edit::delete(store.path(&text)?)]);
    let leaf = fixture.nodes.row.3;
    delete(&fixture.store)?;
    fixture.measure(
        spec,
        |store, _| {
            let path = store.path(&text)?;
            let entry = path.parent().unwrap_or_default();
            let leaf = DataNode::new(leaf, Content::Value(Value::string("l0")));
            let tree = DataTree { nodes: vec![leaf] };
            commit(&store.tree, &[Edit::create(entry, tree)])
        },
        |store, ()| {
            expect_text(store, &text, Some("l0"))?;
            delete(store)
        },
    )?;
    let original = format!("l{}", fixture.middle());
    commit(&fixture.store.tree, &[fixture.store.set(&text, &original)?])
}

/// Rows 15 and 21: changes the value of a leaf of the middle entry.
pub fn modify_an_item(fixture: &mut Fixture<'_, '_>, row: &str, note: &str) -> Result<()> {
    fixture.fill_running(RunningContent::Rows)?;
    let (text, plan) = (
        text_of_row(fixture.middle()),
        fixture.one_entry_repetitions(),
    );
    let spec = RowSpec { row, note, plan };
    let value = |call| format!("changed {call}");
    fixture.measure(
        spec,
        |store, call| {
            commit(&store.tree, &[store.set(&text, &value(call))?])?;
            Ok(call)
        },
        |store, call| expect_text(store, &text, Some(&value(call))),
    )?;
    let original = format!("l{}", fixture.middle());
    commit(&fixture.store.tree, &[fixture.store.set(&text, &original)?])
}

/// Rows 16 and 22: removes a leaf of the middle entry.
pub fn remove_an_item(fixture: &mut Fixture<'_, '_>, row: &str, note: &str) -> Result<()> {
    fixture.fill_running(RunningContent::Rows)?;
    let (text, plan) = (
        text_of_row(fixture.middle()),
        fixture.one_entry_repetitions(),
    );
    let spec = RowSpec { row, note, plan };
    let original = format!("l{}", fixture.middle());
    fixture.measure(
        spec,
        |store, _| commit(&store.tree, &[Edit::remove(store.path(&text)?)]),
        |store, ()| {
            expect_text(store, &text, None)?;
            commit(&store.tree, &[store.set(&text, &original)?])
        },
    )
}
