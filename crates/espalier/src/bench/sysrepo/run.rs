//! Running the rows.

use std::path::{Path, PathBuf};

use super::bed::Bed;
use super::{operational, reads, writes};
use crate::bench::output::Output;
use crate::bench::stand::Durability;
use crate::error::Result;

/// What to measure.
pub struct Sysrepo {
    /// Numbers of list entries, ascending.
    pub sizes: Vec<u64>,
    /// Where stores are made for the embedded driver; none, to leave it out.
    pub folder: Option<PathBuf>,
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
    for &size in &sysrepo.sizes {
        if sysrepo.in_memory == InMemory::Measured {
            rows(Bed::open(None, Durability::None, size, output)?)?;
        }
        if let Some(folder) = &sysrepo.folder {
            let folder: &Path = folder;
            rows(Bed::open(Some(folder), Durability::Relaxed, size, output)?)?;
            rows(Bed::open(Some(folder), Durability::Durable, size, output)?)?;
        }
    }
    Ok(())
}

/// Said of the rows that sysrepo measures a second time, with its cache of running switched on.
const CACHED: &str = "there is no such mode here: the same work again";

/// All rows, in sysrepo's order.
fn rows(mut bed: Bed<'_>) -> Result<()> {
    let bed = &mut bed;
    reads::get_tree(bed)?;
    reads::get_item(bed)?;
    reads::get_tree_hash(bed, "get tree hash", "")?;
    reads::get_user_ordered_tree(bed)?;
    operational::get_oper_tree(bed)?;
    writes::create_batch(bed)?;
    writes::create_user_ordered_items(bed)?;
    writes::create_all_items(bed)?;
    operational::create_all_items_oper(bed)?;
    operational::many_oper_change_subs(bed)?;
    writes::remove_all_items(bed, "remove all items", "")?;
    writes::remove_whole_subtree(bed, "remove whole subtree", "")?;
    writes::create_an_item(bed, "create an item", "")?;
    operational::create_an_item_oper(bed)?;
    writes::modify_an_item(bed, "modify an item", "")?;
    writes::remove_an_item(bed, "remove an item", "")?;
    reads::get_tree_hash(bed, "get tree hash cached", CACHED)?;
    writes::remove_all_items(bed, "remove all items cached", CACHED)?;
    writes::remove_whole_subtree(bed, "remove whole subtree cached", CACHED)?;
    writes::create_an_item(bed, "create an item cached", CACHED)?;
    writes::modify_an_item(bed, "modify an item cached", CACHED)?;
    writes::remove_an_item(bed, "remove an item cached", CACHED)
}
