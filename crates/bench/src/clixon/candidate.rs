//! Rows that edit, commit, validate or discard the candidate.

use espalier_store::{CommitOptions, Edit};

use super::fixture::{Fixture, RowSpec, commit};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// Puts every entry into the candidate, from a document; running is empty.
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

/// Commits a candidate with every entry to an empty running.
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

/// Sets the text of an entry in the candidate to its current value.
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

/// The number of changes after which the candidate is discarded.
const CHANGES_BEFORE_DISCARD: u64 = 100;

/// Sets a new text in the candidate.
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
            match call % CHANGES_BEFORE_DISCARD {
                0 => fixture.discard(),
                _ => Ok(()),
            }
        },
    )?;
    fixture.discard()?;
    Ok(row)
}

/// Deletes an entry in the candidate.
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

/// Sets a new text in the candidate, and commits the candidate.
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

/// Commits a candidate without changes.
pub fn commit_nothing(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |_| commit_candidate(fixture),
        |_, is_changed| expect(!is_changed, || "something was committed".to_owned()),
    )
}

/// Edits of several entries, different ones for each call.
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

/// Commits a candidate with several changed entries.
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

/// Validates a candidate with several deleted entries.
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

/// Discards a candidate with several changed entries.
pub fn discard(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let prepare = |call| commit(&fixture.candidate, &changes(fixture, call)?);
    prepare(0)?;
    let row = fixture.measure(
        spec,
        fixture.one_entry_repetitions(),
        |_| fixture.discard(),
        |call, ()| {
            let has_changes = fixture.candidate.has_changes()?;
            expect(!has_changes, || {
                "the candidate still has changes".to_owned()
            })?;
            prepare(call + 1)
        },
    )?;
    fixture.discard()?;
    Ok(row)
}
