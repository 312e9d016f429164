//! Rows that compare two states of an anchor, and change one into the other.

use espalier_store::{CommitOptions, Datastore, Edit, Tree};

use super::devices::{DEVICE, FAIL, SUCCESS, document};
use super::fixture::{Fixture, RowSpec};
use crate::dataset::expect;
use crate::generated_document::GeneratedDocument;
use crate::row::Row;
use espalier_terminal::Result;

/// The devices of two states.
#[derive(Clone, Copy)]
struct States {
    /// The number of devices of the source, which begin at 0.
    source: u64,
    /// The first device of the target; earlier ones are removed.
    first: u64,
    /// The first device of the target with the status of the source. Devices from `first` up to it have another
    /// status; those that are not in the source are created.
    changed: u64,
    /// The first device after the target.
    end: u64,
}

impl States {
    /// The same proportions as in CPS: 300 devices, and 1,000 that include 100 of them.
    fn of(size: u64) -> Self {
        let (source, first) = (size * 3 / 10, size / 5);
        Self {
            source,
            first,
            changed: size * 2 / 5,
            end: first + size,
        }
    }

    /// The number of devices that are removed, created or changed.
    fn differences(self) -> u64 {
        self.first + (self.end - self.source) + (self.source - self.first)
    }
}

fn source(fixture: &Fixture) -> Result<Edit> {
    replacing(
        fixture,
        document(0..States::of(fixture.size).source, SUCCESS),
    )
}

fn replacing(fixture: &Fixture, document: GeneratedDocument<'_>) -> Result<Edit> {
    Ok(Edit::replace_all(fixture.store.document(document)?))
}

/// Commits the target to a tree; returns its version.
fn put_target(fixture: &Fixture, tree: &Tree) -> Result<u64> {
    let options = CommitOptions::default();
    let states = States::of(fixture.size);
    let unchanged = document(states.changed..states.end, SUCCESS);
    tree.commit(&[replacing(fixture, unchanged)?], options)?;
    let changed = fixture.parsed(document(states.first..states.changed, FAIL))?;
    Ok(tree.commit(&[changed], options)?.version)
}

/// Lists the differences between two versions of an anchor.
pub fn versions(fixture: &mut Fixture, spec: RowSpec) -> Result<Row> {
    let from = fixture.store.commit(&[source(fixture)?])?.version;
    let to = put_target(fixture, &fixture.store.tree)?;
    fixture.attach_raw_client()?;
    let tree = &fixture.store.tree;
    let expected = States::of(fixture.size).differences();
    fixture.measure_read(
        spec,
        fixture.all_entries_repetitions(),
        || Ok(tree.diff(from, to)?),
        |diff| {
            let tops = diff.changes().filter(|change| !change.is_nested).count() as u64;
            expect(tops == expected, || format!("{tops} changes"))
        },
    )
}

/// Copies another datastore to running: the differences are computed and committed.
pub fn apply(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let running = &fixture.store.tree;
    let startup = running.sibling_datastore(Datastore::Startup, "")?;
    let options = CommitOptions::default();
    startup.commit(&[source(fixture)?], options)?;
    put_target(fixture, running)?;
    fixture.measure_write(
        spec,
        |_| Ok(running.copy_from(&startup, options)?),
        |_, commit| {
            let count = fixture.store.count(DEVICE)?;
            let expected = States::of(fixture.size).source;
            expect(commit.is_changed && count == expected, || {
                format!("{count} devices")
            })?;
            put_target(fixture, running).map(drop)
        },
    )
}
