//! Rows that read.

use espalier_yang::data::DataTree;
use espalier_yang::{InstancePath, Value};

use super::fixture::{Fixture, MODEL, RowSpec, RunningContent, STEPS, TABLES, text_of_row};
use crate::dataset::expect;
use crate::model_store::ModelStore;
use espalier_terminal::Result;
use espalier_terminal::single_node::tree_of;

/// An expression for the text of an entry that is not a path of keys, as a user writes it.
fn by_condition(n: u64) -> String {
    format!("/espalier-bench-tables:tables/row[number='{n}' and name='str{n}']/text")
}

/// A leaf with its ancestors.
fn with_parents(store: &ModelStore, path: &InstancePath, value: &Value) -> Result<DataTree> {
    tree_of(store.tree.schema(), path, Some(&value.to_string()))
}

fn expect_text(store: &ModelStore, tree: &DataTree, n: u64) -> Result<()> {
    let expected = with_parents(
        store,
        &store.path(&text_of_row(n))?,
        &Value::string(format!("l{n}")),
    )?;
    expect(*tree == expected, || {
        format!("reading the text of {n} returned {tree:?}")
    })
}

/// Row 1: one leaf of N entries by a condition, with its ancestors.
pub fn get_tree(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Rows)?;
    let (middle, plan) = (fixture.middle(), fixture.one_entry_repetitions());
    let spec = RowSpec {
        row: "get tree",
        note: "by a condition on both keys, parsed each time",
        plan,
    };
    let text = by_condition(middle);
    fixture.measure(
        spec,
        |store, _| {
            let one = MODEL.select_one(&store.tree.view()?, &text)?;
            with_parents(store, &one.path, &one.value.unwrap_or(Value::Empty))
        },
        |store, tree| expect_text(store, &tree, middle),
    )
}

/// Row 2: the same, only the value.
pub fn get_item(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Rows)?;
    let (middle, plan) = (fixture.middle(), fixture.one_entry_repetitions());
    let spec = RowSpec {
        row: "get item",
        note: "by a condition on both keys, parsed each time",
        plan,
    };
    let text = by_condition(middle);
    fixture.measure(
        spec,
        |store, _| Ok(MODEL.select_one(&store.tree.view()?, &text)?.value),
        |_, value| {
            let expected = Some(Value::string(format!("l{middle}")));
            expect(value == expected, || format!("got {value:?}"))
        },
    )
}

/// Rows 3 and 17: one leaf by the keys of its entry, with its ancestors.
pub fn get_tree_hash(fixture: &mut Fixture<'_, '_>, row: &str, note: &str) -> Result<()> {
    fixture.fill_running(RunningContent::Rows)?;
    let (middle, plan) = (fixture.middle(), fixture.one_entry_repetitions());
    let spec = RowSpec { row, note, plan };
    let text = text_of_row(middle);
    fixture.measure(
        spec,
        |store, _| {
            let path = store.path(&text)?;
            let value = store.leaf(&path)?.unwrap_or(Value::Empty);
            with_parents(store, &path, &value)
        },
        |store, tree| expect_text(store, &tree, middle),
    )
}

/// Row 4: the whole container with N user-ordered entries, as a tree.
pub fn get_user_ordered_tree(fixture: &mut Fixture<'_, '_>) -> Result<()> {
    fixture.fill_running(RunningContent::Steps)?;
    let plan = fixture.all_entries_repetitions();
    let spec = RowSpec {
        row: "get user ordered tree",
        note: "",
        plan,
    };
    let expected = fixture.nodes.steps(fixture.size);
    fixture.measure(
        spec,
        |store, _| store.read(&store.path(TABLES)?),
        |_, tree| expect(tree == expected, || format!("the steps differ: {STEPS}")),
    )
}
