//! Rows that change the candidate, and commit, validate or discard it.

use espalier_store::{CommitOptions, Edit};

use super::fixture::{Fixture, RowSpec, commit};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// Every entry is put into the candidate, from a document; running is empty.
pub fn write_all(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let document = fixture.first_document();
    fixture.measure(
        spec,
        fixture.all_entries_repetitions(),
        |_| fixture.put(&fixture.candidate, &document),
        |_, ()| {
            fixture.expect_count(&fixture.candidate, fixture.size)?;
            fixture.discard()
        },
    )
}

/// A candidate with every entry is committed to an empty running.
pub fn commit_all(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let document = fixture.first_document();
    fixture.put(&fixture.candidate, &document)?;
    let row = fixture.measure(
        spec,
        fixture.all_entries_repetitions(),
        |_| commit_candidate(fixture),
        |_, is_changed| {
            expect(is_changed, || "nothing was committed".to_owned())?;
            fixture.expect_count(&fixture.store.tree, fixture.size)?;
            fixture.empty()?;
            fixture.put(&fixture.candidate, &document)
        },
    )?;
    fixture.discard()?;
    Ok(row)
}

fn commit_candidate(fixture: &Fixture) -> Result<bool> {
    let commit = fixture
        .candidate
        .commit_candidate(CommitOptions::default())?;
    Ok(commit.is_changed)
}

/// The text that an entry has already is set in the candidate.
pub fn write_same(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |call| {
            let entry = fixture.entry(call);
            let edit = fixture.set(entry, &entry.to_string())?;
            Ok(fixture
                .candidate
                .commit(&[edit], CommitOptions::default())?)
        },
        |_, commit| expect(!commit.is_changed, || "something changed".to_owned()),
    )
}

/// Changes that a candidate gathers before it is discarded.
const GATHERED: u64 = 100;

/// Another text is set in the candidate.
pub fn write_new(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let text = |call| format!("new {call}");
    let row = fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |call| {
            commit(
                &fixture.candidate,
                &[fixture.set(fixture.entry(call), &text(call))?],
            )
        },
        |call, ()| {
            fixture.expect_text(&fixture.candidate, fixture.entry(call), &text(call))?;
            match call % GATHERED {
                0 => fixture.discard(),
                _ => Ok(()),
            }
        },
    )?;
    fixture.discard()?;
    Ok(row)
}

/// An entry is deleted in the candidate.
pub fn delete_one(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |call| commit(&fixture.candidate, &[fixture.delete(fixture.entry(call))?]),
        |call, ()| {
            fixture.expect_gone(&fixture.candidate, fixture.entry(call))?;
            fixture.discard()
        },
    )
}

/// Another text is set in the candidate, and the candidate is committed.
pub fn write_and_commit(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let text = |call| format!("committed {call}");
    let row = fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |call| {
            let edit = fixture.set(fixture.entry(call), &text(call))?;
            commit(&fixture.candidate, &[edit])?;
            commit_candidate(fixture)
        },
        |call, _| fixture.expect_text(&fixture.store.tree, fixture.entry(call), &text(call)),
    )?;
    fixture.fill()?;
    Ok(row)
}

/// A candidate that changes nothing is committed.
pub fn commit_nothing(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |_| commit_candidate(fixture),
        |_, is_changed| expect(!is_changed, || "something was committed".to_owned()),
    )
}

/// The edits of some entries, other ones for each call.
fn changes(fixture: &Fixture, call: u64) -> Result<Vec<Edit>> {
    let text = many_text(call);
    fixture
        .entries(call)
        .map(|entry| fixture.set(entry, &text))
        .collect()
}

fn many_text(call: u64) -> String {
    format!("many {call}")
}

/// A candidate with some changed entries is committed.
pub fn commit_many(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let prepare = |call| commit(&fixture.candidate, &changes(fixture, call)?);
    prepare(0)?;
    let row = fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |_| commit_candidate(fixture),
        |call, _| {
            fixture.expect_text(&fixture.store.tree, fixture.entry(call), &many_text(call))?;
            prepare(call + 1)
        },
    )?;
    fixture.discard()?;
    fixture.fill()?;
    Ok(row)
}

/// A candidate with some deleted entries is validated.
pub fn validate_many(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let deletes = fixture.entries(0).map(|entry| fixture.delete(entry));
    commit(&fixture.candidate, &deletes.collect::<Result<Vec<_>>>()?)?;
    let row = fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |_| Ok(fixture.candidate.validate()?),
        |_, ()| fixture.expect_gone(&fixture.candidate, fixture.entry(0)),
    )?;
    fixture.discard()?;
    Ok(row)
}

/// A candidate with some changed entries is discarded.
pub fn discard(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let prepare = |call| commit(&fixture.candidate, &changes(fixture, call)?);
    prepare(0)?;
    let row = fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |_| fixture.discard(),
        |call, ()| {
            let has_changes = fixture.candidate.has_changes()?;
            expect(!has_changes, || "there are changes still".to_owned())?;
            prepare(call + 1)
        },
    )?;
    fixture.discard()?;
    Ok(row)
}
