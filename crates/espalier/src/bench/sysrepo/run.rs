//! Running the rows.

use std::path::{Path, PathBuf};

use super::bed::Bed;
use super::{operational, reads, writes};
use crate::bench::output::Output;
use crate::bench::stand::Durability;
use crate::error::{Failure, Result};

/// What to measure.
pub struct Sysrepo {
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// Where stores are made for the embedded driver; none, to leave it out.
    pub folder: Option<PathBuf>,
    /// Parts of the names of the rows that are measured; none for all of them.
    pub rows: Vec<String>,
    /// Whether the memory driver is measured.
    pub in_memory: InMemory,
}

/// Whether the memory driver is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMemory {
    /// It is.
    Measured,
    /// It is left out.
    LeftOut,
}

/// Runs the bench. Fails at the first wrong answer.
pub fn run(sysrepo: &Sysrepo, output: &mut Output) -> Result<()> {
    let named = sysrepo.rows.as_slice();
    check_rows(named)?;
    for &size in &sysrepo.sizes {
        if sysrepo.in_memory == InMemory::Measured {
            rows(Bed::open(None, Durability::None, size, output)?, named)?;
        }
        if let Some(folder) = &sysrepo.folder {
            let folder: &Path = folder;
            rows(
                Bed::open(Some(folder), Durability::Relaxed, size, output)?,
                named,
            )?;
            rows(
                Bed::open(Some(folder), Durability::Durable, size, output)?,
                named,
            )?;
        }
    }
    Ok(())
}

/// Said of the rows that sysrepo measures a second time, with its cache of running switched on.
const CACHED: &str = "there is no such mode here: the same work again";

/// A row: its name, and how it is measured.
type Row = (&'static str, fn(&mut Bed<'_>, &str) -> Result<()>);

/// All rows, in sysrepo's order.
const ROWS: [Row; 22] = [
    ("get tree", |bed, _| reads::get_tree(bed)),
    ("get item", |bed, _| reads::get_item(bed)),
    ("get tree hash", |bed, row| {
        reads::get_tree_hash(bed, row, "")
    }),
    ("get user ordered tree", |bed, _| {
        reads::get_user_ordered_tree(bed)
    }),
    ("get oper tree", |bed, _| operational::get_oper_tree(bed)),
    ("create batch", |bed, _| writes::create_batch(bed)),
    ("create user ordered items", |bed, _| {
        writes::create_user_ordered_items(bed)
    }),
    ("create all items", |bed, _| writes::create_all_items(bed)),
    ("create all items oper", |bed, _| {
        operational::create_all_items_oper(bed)
    }),
    ("many oper change_subs", |bed, _| {
        operational::many_oper_change_subs(bed)
    }),
    ("remove all items", |bed, row| {
        writes::remove_all_items(bed, row, "")
    }),
    ("remove whole subtree", |bed, row| {
        writes::remove_whole_subtree(bed, row, "")
    }),
    ("create an item", |bed, row| {
        writes::create_an_item(bed, row, "")
    }),
    ("create an item oper", |bed, _| {
        operational::create_an_item_oper(bed)
    }),
    ("modify an item", |bed, row| {
        writes::modify_an_item(bed, row, "")
    }),
    ("remove an item", |bed, row| {
        writes::remove_an_item(bed, row, "")
    }),
    ("get tree hash cached", |bed, row| {
        reads::get_tree_hash(bed, row, CACHED)
    }),
    ("remove all items cached", |bed, row| {
        writes::remove_all_items(bed, row, CACHED)
    }),
    ("remove whole subtree cached", |bed, row| {
        writes::remove_whole_subtree(bed, row, CACHED)
    }),
    ("create an item cached", |bed, row| {
        writes::create_an_item(bed, row, CACHED)
    }),
    ("modify an item cached", |bed, row| {
        writes::modify_an_item(bed, row, CACHED)
    }),
    ("remove an item cached", |bed, row| {
        writes::remove_an_item(bed, row, CACHED)
    }),
];

/// The rows that are asked for; all of them where none is named.
fn rows(mut bed: Bed<'_>, named: &[String]) -> Result<()> {
    let is_named =
        |row: &str| named.is_empty() || named.iter().any(|name| row.contains(name.as_str()));
    for (row, measure) in ROWS {
        if is_named(row) {
            measure(&mut bed, row)?;
        }
    }
    Ok(())
}

/// Refuses what is part of no row's name.
fn check_rows(named: &[String]) -> Result<()> {
    for name in named {
        if !ROWS.iter().any(|(row, _)| row.contains(name.as_str())) {
            let known: Vec<_> = ROWS.iter().map(|(row, _)| *row).collect();
            let known = known.join(", ");
            return Err(Failure::usage(format!(
                "no row has {name:?} in its name; there are {known}"
            )));
        }
    }
    Ok(())
}
