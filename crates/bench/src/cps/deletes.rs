//! Rows that delete; deletes are reverted outside the measured time.

use espalier_store::Edit;
use espalier_yang::data::DataTree;

use super::devices::{DEVICES, SUCCESS, document, path_of};
use super::fixture::{Fixture, RowSpec};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The number of deleted nodes.
const DELETED: u64 = 100;

/// The number of commits that delete the nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    /// One for each node.
    Each,
    /// One for all nodes.
    One,
}

/// Deletes a node of each of several devices, at a path relative to the device. Paths are parsed each time.
pub fn nodes(
    fixture: &Fixture,
    spec: RowSpec,
    relative_path: &str,
    commits: Commits,
) -> Result<Row> {
    let count = DELETED.min(fixture.size);
    let texts: Vec<_> = (0..count)
        .map(|number| format!("{}{relative_path}", path_of(number)))
        .collect();
    let back = fixture.parsed(document(0..count, SUCCESS))?;
    let row = fixture.measure_write(
        spec,
        |_| {
            let edits = texts
                .iter()
                .map(|text| Ok(Edit::delete(fixture.store.path(text)?)));
            let edits = edits.collect::<Result<Vec<_>>>()?;
            let at_once = match commits {
                Commits::Each => 1,
                Commits::One => edits.len(),
            };
            for edits in edits.chunks(at_once) {
                fixture.store.commit(edits)?;
            }
            Ok(())
        },
        |_, ()| {
            let view = fixture.store.tree.view()?;
            for text in &texts {
                let is_there = view.has_content(&fixture.store.path(text)?)?;
                expect(!is_there, || format!("{text} is still there"))?;
            }
            drop(view);
            fixture.store.commit(std::slice::from_ref(&back)).map(drop)
        },
    )?;
    Ok(match count {
        DELETED => row,
        _ => row.note(format!("only {count} devices")),
    })
}

/// The node whose deletion deletes everything.
#[derive(Clone, Copy)]
pub enum Everything {
    /// The container of all devices.
    Node,
    /// The root.
    Root,
}

/// Deletes everything.
pub fn everything(fixture: &Fixture, spec: RowSpec, what: Everything) -> Result<Row> {
    fixture.measure_write(
        spec,
        |_| {
            let edit = match what {
                Everything::Node => Edit::delete(fixture.store.path(DEVICES)?),
                Everything::Root => Edit::replace_all(DataTree::default()),
            };
            fixture.store.commit(&[edit])
        },
        |_, _| {
            let is_there = fixture
                .store
                .tree
                .view()?
                .has_content(&fixture.store.path(DEVICES)?)?;
            expect(!is_there, || "devices still exist".to_owned())?;
            fixture.load(&fixture.store.tree)
        },
    )
}

/// Deletes devices that do not exist, in one commit, which is rejected with an error for each.
pub fn missing(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let numbers = fixture.size..fixture.size + DELETED;
    let texts: Vec<_> = numbers.map(path_of).collect();
    fixture.measure_write(
        spec,
        |_| {
            let edits = texts
                .iter()
                .map(|text| Ok(Edit::delete(fixture.store.path(text)?)));
            let edits = edits.collect::<Result<Vec<_>>>()?;
            match fixture.store.commit(&edits) {
                Ok(_) => Err(Failure::data("devices that do not exist were deleted")),
                Err(error) => Ok(error),
            }
        },
        |_, error| {
            let errors = error.into_errors().len() as u64;
            expect(errors == DELETED, || format!("{errors} errors"))
        },
    )
}
