//! Runs the rows.

use super::comparison::Comparison;
use super::fixture::{Fixture, RunningContent};
use super::{operational, reads, writes};
use crate::configuration::Configuration;
use crate::harness::shuffle;
use crate::output::Output;
use espalier_terminal::{Failure, Result};

/// The parameters of the suite.
pub struct Sysrepo {
    /// The name of the suite in rows: the suite `drivers` has the same rows.
    pub suite: &'static str,
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// The configurations to measure.
    pub configurations: Vec<Configuration>,
    /// Parts of the names of the rows to measure; empty for all rows.
    pub rows: Vec<String>,
}

/// Runs the suite. Fails at the first wrong result.
pub fn run(sysrepo: &Sysrepo, output: &mut Output) -> Result<()> {
    let selected = selected_rows(&sysrepo.rows)?;
    // The order differs between passes, and is the same in each run.
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

/// Shuffles the rows, so that the after-effects of one row do not always affect the same other row. Rows on the same
/// data stay together, as filling takes longer than measuring.
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

/// The note of the rows that sysrepo measures a second time, with its cache of running enabled.
const CACHED: &str = "Espalier has no such mode: the same work again";

/// A row: its name, the content of running, and the measurement.
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

/// The rows whose name contains one of these texts; all rows if there is none. Rejects a text that no row name
/// contains.
fn selected_rows(named: &[String]) -> Result<Vec<Row>> {
    for name in named {
        if !ROWS.iter().any(|row| row.0.contains(name.as_str())) {
            let names: Vec<_> = ROWS.iter().map(|row| row.0).collect();
            let names = names.join(", ");
            return Err(Failure::usage(format!(
                "no row name contains {name:?}; the rows are {names}"
            )));
        }
    }
    let is_named =
        |row: &Row| named.is_empty() || named.iter().any(|name| row.0.contains(name.as_str()));
    Ok(ROWS.into_iter().filter(is_named).collect())
}
