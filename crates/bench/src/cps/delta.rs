//! Rows that compare two states of an anchor, and make one the other.

use espalier_store::{CommitOptions, Datastore, Edit, Tree};

use super::bed::{About, Bed};
use super::devices::{DEVICE, FAIL, SUCCESS, document};
use crate::dataset::expect;
use crate::pieces::Pieces;
use crate::row::Row;
use espalier_terminal::Result;

/// The devices of two states.
#[derive(Clone, Copy)]
struct States {
    /// Devices of the source, from 0.
    source: u64,
    /// The first device of the target; those before are removed.
    first: u64,
    /// The first device of the target that has not another status. The source has those from
    /// `first` on that have, and more are created.
    changed: u64,
    /// The first device that is not in the target.
    end: u64,
}

impl States {
    /// In the same parts as CPS': 300 devices, and 1,000 of which 100 are among them.
    fn of(size: u64) -> Self {
        let (source, first) = (size * 3 / 10, size / 5);
        Self {
            source,
            first,
            changed: size * 2 / 5,
            end: first + size,
        }
    }

    /// Devices that are removed, created or changed.
    fn differences(self) -> u64 {
        self.first + (self.end - self.source) + (self.source - self.first)
    }
}

fn source(bed: &Bed) -> Result<Edit> {
    replacing(bed, document(0..States::of(bed.size).source, SUCCESS))
}

fn replacing(bed: &Bed, document: Pieces<'_>) -> Result<Edit> {
    Ok(Edit::replace_all(bed.stand.document(document)?))
}

/// Has a tree hold the target.
fn put_target(bed: &Bed, tree: &Tree) -> Result<u64> {
    let options = CommitOptions::default();
    let states = States::of(bed.size);
    let unchanged = document(states.changed..states.end, SUCCESS);
    tree.commit(&[replacing(bed, unchanged)?], options)?;
    let changed = bed.parsed(document(states.first..states.changed, FAIL))?;
    Ok(tree.commit(&[changed], options)?.version)
}

/// What is different between two versions of an anchor, as a list of changes.
pub fn versions(bed: &mut Bed, about: About) -> Result<Row> {
    let from = bed.stand.commit(&[source(bed)?])?.version;
    let to = put_target(bed, &bed.stand.tree)?;
    bed.copy_raw()?;
    let tree = &bed.stand.tree;
    let wanted = States::of(bed.size).differences();
    bed.measure_read(
        about,
        bed.all(),
        || Ok(tree.diff(from, to)?),
        |diff| {
            let tops = diff.changes().filter(|change| !change.is_nested).count() as u64;
            expect(tops == wanted, || format!("{tops} changes"))
        },
    )
}

/// An anchor is made what another datastore of it is: the differences are found and committed.
pub fn apply(bed: &Bed, about: About) -> Result<Row> {
    let running = &bed.stand.tree;
    let startup = running.beside(Datastore::Startup, "")?;
    let options = CommitOptions::default();
    startup.commit(&[source(bed)?], options)?;
    put_target(bed, running)?;
    bed.measure_write(
        about,
        |_| Ok(running.copy_from(&startup, options)?),
        |_, commit| {
            let count = bed.stand.count(DEVICE)?;
            let wanted = States::of(bed.size).source;
            expect(commit.is_changed && count == wanted, || {
                format!("{count} devices")
            })?;
            put_target(bed, running).map(drop)
        },
    )
}
