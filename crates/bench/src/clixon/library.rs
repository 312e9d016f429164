//! Rows that read through the library.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use espalier_store::{Edit, Selection};
use espalier_yang::path::Fields;

use super::fixture::{ALL, Fixture, LIST, MODEL, RowSpec, commit, expect_entry, xml};
use crate::dataset::expect;
use crate::harness::{Repetitions, measure};
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// Reads all of running, as XML.
pub fn read_all(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let expected = fixture.size as usize;
    fixture.measure(
        spec,
        fixture.all_entries_repetitions(),
        |_| {
            let path = fixture.store.path(ALL)?;
            xml(&fixture.store.tree, &path, &Selection::default())
        },
        |_, xml| {
            let found = String::from_utf8_lossy(&xml).matches("<a>").count();
            expect(found == expected, || format!("{found} entries"))
        },
    )
}

/// Reads the entry that an expression selects, as XML. Fails unless it is exactly one.
fn read_by_xpath(fixture: &Fixture, text: &str) -> Result<Vec<u8>> {
    let tree = &fixture.store.tree;
    let found = MODEL.select_one(&tree.view()?, text)?;
    xml(tree, &found.path, &Selection::default())
}

/// Reads an entry by an expression on its key.
pub fn read_by_key(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |call| read_by_xpath(fixture, &format!("{LIST}[a='{}']", fixture.entry(call))),
        |call, xml| expect_entry(&xml, fixture.entry(call), &fixture.entry(call).to_string()),
    )
}

/// Reads an entry by an expression on its other leaf.
pub fn read_by_leaf(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.measure(
        spec,
        Repetitions::few(50),
        |call| read_by_xpath(fixture, &format!("{LIST}[b='{}']", fixture.entry(call))),
        |call, xml| expect_entry(&xml, fixture.entry(call), &fixture.entry(call).to_string()),
    )
}

/// Reads an entry by its key and a selection of its leaves.
pub fn read_by_selection(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let tree = &fixture.store.tree;
    fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |call| {
            let path = fixture
                .store
                .path(&super::fixture::path_of(fixture.entry(call)))?;
            let fields = Fields::parse(tree.schema(), path.target(), "a;b");
            let selection = Selection {
                fields: Some(fields.map_err(|error| Failure::data(error.to_string()))?),
                ..Selection::default()
            };
            xml(tree, &path, &selection)
        },
        |call, xml| expect_entry(&xml, fixture.entry(call), &fixture.entry(call).to_string()),
    )
}

/// The number of different commits of the other session.
const COMMITS: u64 = 64;

/// Reads an entry by an expression on its key, while another session repeatedly edits and commits the candidate.
pub fn read_during_commits(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    // The other session changes the last entry.
    let entry = |call| fixture.entry(call) % (fixture.size - 1).max(1);
    let edits = (0..COMMITS).map(|n| fixture.set(fixture.size - 1, &format!("beside {n}")));
    let edits = edits.collect::<Result<Vec<Edit>>>()?;
    let timing = thread::scope(|scope| {
        let writer = scope.spawn(|| -> Result<()> {
            for edit in edits.chunks(1).cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                commit(&fixture.candidate, edit)?;
                fixture.candidate.commit_candidate(Default::default())?;
                made.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        while made.load(Ordering::Relaxed) == 0 && !writer.is_finished() {
            thread::yield_now();
        }
        let timing = measure(
            fixture.one_entry_repetitions(),
            |call| read_by_xpath(fixture, &format!("{LIST}[a='{}']", entry(call))),
            |call, xml| expect_entry(&xml, entry(call), &entry(call).to_string()),
        );
        stop.store(true, Ordering::Relaxed);
        let written = writer.join();
        written.map_err(|_| Failure::data("the other session failed"))??;
        timing
    })?;
    commit(
        &fixture.store.tree,
        &[fixture.set(fixture.size - 1, &(fixture.size - 1).to_string())?],
    )?;
    let made = made.load(Ordering::Relaxed);
    Ok(fixture
        .row(spec)
        .timed(&timing)
        .note(format!("{made} commits meanwhile")))
}
