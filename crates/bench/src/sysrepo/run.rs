//! Running the rows.

use super::comparison::Comparison;
use super::fixture::{Fixture, RunningContent};
use super::{operational, reads, writes};
use crate::configuration::Configuration;
use crate::harness::shuffle;
use crate::output::Output;
use espalier_terminal::{Failure, Result};

/// What to measure.
pub struct Sysrepo {
    /// What the suite is called in rows: the same rows are the suite of drivers, too.
    pub suite: &'static str,
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// Where.
    pub configurations: Vec<Configuration>,
    /// Parts of the names of the rows that are measured; none for all of them.
    pub rows: Vec<String>,
}

/// Runs the bench. Fails at the first wrong answer.
pub fn run(sysrepo: &Sysrepo, output: &mut Output) -> Result<()> {
    let selected = selected_rows(&sysrepo.rows)?;
    // Another order in each pass, the same in each run.
    let pass = output.pass();
    let mut comparison = Comparison::new(sysrepo.suite, output);
    for &size in &sysrepo.sizes {
        for configuration in &sysrepo.configurations {
            let mut fixture = Fixture::open(configuration, size, &mut comparison)?;
            for (row, _, measure) in in_random_order(&selected, size + pass) {
                fixture.rank = ROWS.iter().position(|known| known.0 == row).unwrap_or(0);
                measure(&mut fixture, row)?;
            }
        }
    }
    Ok(())
}

/// The rows in an order that is drawn, so that what one leaves behind does not always help or hinder
/// the same other. Those on the same data follow one another: filling takes longer than measuring.
fn in_random_order(rows: &[Row], seed: u64) -> Vec<Row> {
    let mut kinds = [
        RunningContent::Nothing,
        RunningContent::Rows,
        RunningContent::Steps,
    ];
    shuffle(&mut kinds, seed);
    let of_kind = |kind| {
        let mut rows: Vec<_> = rows.iter().copied().filter(|row| row.1 == kind).collect();
        shuffle(&mut rows, seed);
        rows
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// Said of the rows that sysrepo measures a second time, with its cache of running switched on.
const CACHED: &str = "there is no such mode here: the same work again";

/// A row: its name, what it is measured on, and how.
type Row = (
    &'static str,
    RunningContent,
    fn(&mut Fixture<'_, '_>, &str) -> Result<()>,
);

/// All rows, in sysrepo's order.
const ROWS: [Row; 22] = [
    ("get tree", RunningContent::Rows, |fixture, _| {
        reads::get_tree(fixture)
    }),
    ("get item", RunningContent::Rows, |fixture, _| {
        reads::get_item(fixture)
    }),
    ("get tree hash", RunningContent::Rows, |fixture, row| {
        reads::get_tree_hash(fixture, row, "")
    }),
    (
        "get user ordered tree",
        RunningContent::Steps,
        |fixture, _| reads::get_user_ordered_tree(fixture),
    ),
    ("get oper tree", RunningContent::Nothing, |fixture, _| {
        operational::get_oper_tree(fixture)
    }),
    ("create batch", RunningContent::Nothing, |fixture, _| {
        writes::create_batch(fixture)
    }),
    (
        "create user ordered items",
        RunningContent::Nothing,
        |fixture, _| writes::create_user_ordered_items(fixture),
    ),
    ("create all items", RunningContent::Nothing, |fixture, _| {
        writes::create_all_items(fixture)
    }),
    (
        "create all items oper",
        RunningContent::Nothing,
        |fixture, _| operational::create_all_items_oper(fixture),
    ),
    (
        "many oper change_subs",
        RunningContent::Nothing,
        |fixture, _| operational::many_oper_change_subs(fixture),
    ),
    ("remove all items", RunningContent::Rows, |fixture, row| {
        writes::remove_all_items(fixture, row, "")
    }),
    (
        "remove whole subtree",
        RunningContent::Rows,
        |fixture, row| writes::remove_whole_subtree(fixture, row, ""),
    ),
    ("create an item", RunningContent::Rows, |fixture, row| {
        writes::create_an_item(fixture, row, "")
    }),
    (
        "create an item oper",
        RunningContent::Nothing,
        |fixture, _| operational::create_an_item_oper(fixture),
    ),
    ("modify an item", RunningContent::Rows, |fixture, row| {
        writes::modify_an_item(fixture, row, "")
    }),
    ("remove an item", RunningContent::Rows, |fixture, row| {
        writes::remove_an_item(fixture, row, "")
    }),
    (
        "get tree hash cached",
        RunningContent::Rows,
        |fixture, row| reads::get_tree_hash(fixture, row, CACHED),
    ),
    (
        "remove all items cached",
        RunningContent::Rows,
        |fixture, row| writes::remove_all_items(fixture, row, CACHED),
    ),
    (
        "remove whole subtree cached",
        RunningContent::Rows,
        |fixture, row| writes::remove_whole_subtree(fixture, row, CACHED),
    ),
    (
        "create an item cached",
        RunningContent::Rows,
        |fixture, row| writes::create_an_item(fixture, row, CACHED),
    ),
    (
        "modify an item cached",
        RunningContent::Rows,
        |fixture, row| writes::modify_an_item(fixture, row, CACHED),
    ),
    (
        "remove an item cached",
        RunningContent::Rows,
        |fixture, row| writes::remove_an_item(fixture, row, CACHED),
    ),
];

/// The rows with one of these in their name, all where none is named. Refuses what is part of no
/// row's name.
fn selected_rows(named: &[String]) -> Result<Vec<Row>> {
    for name in named {
        if !ROWS.iter().any(|row| row.0.contains(name.as_str())) {
            let names: Vec<_> = ROWS.iter().map(|row| row.0).collect();
            let names = names.join(", ");
            return Err(Failure::usage(format!(
                "no row has {name:?} in its name; the rows are {names}"
            )));
        }
    }
    let is_named =
        |row: &Row| named.is_empty() || named.iter().any(|name| row.0.contains(name.as_str()));
    Ok(ROWS.into_iter().filter(is_named).collect())
}
