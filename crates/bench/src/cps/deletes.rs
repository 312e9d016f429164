//! Rows that delete; what they delete is put back outside the measured time.

use espalier_store::Edit;
use espalier_yang::data::DataTree;

use super::bed::{About, Bed};
use super::devices::{DEVICES, SUCCESS, document, path_of};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// Nodes that are deleted.
const DELETED: u64 = 100;

/// How many commits delete them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    /// One for each.
    Each,
    /// One for all of them.
    One,
}

/// The nodes of some devices, at a path below each, are deleted. Paths are parsed each time.
pub fn nodes(bed: &Bed, about: About, below: &str, commits: Commits) -> Result<Row> {
    let count = DELETED.min(bed.size);
    let texts: Vec<_> = (0..count)
        .map(|number| format!("{}{below}", path_of(number)))
        .collect();
    let back = bed.parsed(document(0..count, SUCCESS))?;
    let row = bed.measure_write(
        about,
        |_| {
            let edits = texts
                .iter()
                .map(|text| Ok(Edit::delete(bed.stand.path(text)?)));
            let edits = edits.collect::<Result<Vec<_>>>()?;
            let at_once = match commits {
                Commits::Each => 1,
                Commits::One => edits.len(),
            };
            for edits in edits.chunks(at_once) {
                bed.stand.commit(edits)?;
            }
            Ok(())
        },
        |_, ()| {
            let view = bed.stand.tree.view()?;
            for text in &texts {
                let is_there = view.has_content(&bed.stand.path(text)?)?;
                expect(!is_there, || format!("{text} is still there"))?;
            }
            drop(view);
            bed.stand.commit(std::slice::from_ref(&back)).map(drop)
        },
    )?;
    Ok(match count {
        DELETED => row,
        _ => row.note(format!("there are but {count}")),
    })
}

/// What one node holds that is everything.
#[derive(Clone, Copy)]
pub enum Everything {
    /// The container of all devices.
    Node,
    /// The root.
    Root,
}

/// Everything is deleted.
pub fn everything(bed: &Bed, about: About, what: Everything) -> Result<Row> {
    bed.measure_write(
        about,
        |_| {
            let edit = match what {
                Everything::Node => Edit::delete(bed.stand.path(DEVICES)?),
                Everything::Root => Edit::replace_all(DataTree::default()),
            };
            bed.stand.commit(&[edit])
        },
        |_, _| {
            let is_there = bed
                .stand
                .tree
                .view()?
                .has_content(&bed.stand.path(DEVICES)?)?;
            expect(!is_there, || "there are devices still".to_owned())?;
            bed.load(&bed.stand.tree)
        },
    )
}

/// Devices that are not there are deleted in one commit, which is refused with an error for each.
pub fn missing(bed: &Bed, about: About) -> Result<Row> {
    let numbers = bed.size..bed.size + DELETED;
    let texts: Vec<_> = numbers.map(path_of).collect();
    bed.measure_write(
        about,
        |_| {
            let edits = texts
                .iter()
                .map(|text| Ok(Edit::delete(bed.stand.path(text)?)));
            let edits = edits.collect::<Result<Vec<_>>>()?;
            match bed.stand.commit(&edits) {
                Ok(_) => Err(Failure::data("what is not there was deleted")),
                Err(error) => Ok(error),
            }
        },
        |_, error| {
            let errors = error.into_errors().len() as u64;
            expect(errors == DELETED, || format!("{errors} errors"))
        },
    )
}
