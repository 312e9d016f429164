//! Rows that change the candidate, and commit, validate or discard it.

use espalier_store::{CommitOptions, Edit};

use super::bed::{About, Bed, commit};
use crate::dataset::expect;
use crate::row::Row;
use espalier_terminal::Result;

/// Every entry is put into the candidate, from a document; running is empty.
pub fn write_all(bed: &Bed, about: About) -> Result<Row> {
    let document = bed.first_document();
    bed.measure(
        about,
        bed.all(),
        |_| bed.put(&bed.candidate, &document),
        |_, ()| {
            bed.expect_count(&bed.candidate, bed.size)?;
            bed.discard()
        },
    )
}

/// A candidate with every entry is committed to an empty running.
pub fn commit_all(bed: &Bed, about: About) -> Result<Row> {
    let document = bed.first_document();
    bed.put(&bed.candidate, &document)?;
    let row = bed.measure(
        about,
        bed.all(),
        |_| commit_candidate(bed),
        |_, is_changed| {
            expect(is_changed, || "nothing was committed".to_owned())?;
            bed.expect_count(&bed.stand.tree, bed.size)?;
            bed.empty()?;
            bed.put(&bed.candidate, &document)
        },
    )?;
    bed.discard()?;
    Ok(row)
}

fn commit_candidate(bed: &Bed) -> Result<bool> {
    let commit = bed.candidate.commit_candidate(CommitOptions::default())?;
    Ok(commit.is_changed)
}

/// The text that an entry has already is set in the candidate.
pub fn write_same(bed: &Bed, about: About) -> Result<Row> {
    bed.measure(
        about,
        bed.one(),
        |call| {
            let entry = bed.entry(call);
            let edit = bed.set(entry, &entry.to_string())?;
            Ok(bed.candidate.commit(&[edit], CommitOptions::default())?)
        },
        |_, commit| expect(!commit.is_changed, || "something changed".to_owned()),
    )
}

/// Changes that a candidate gathers before it is discarded.
const GATHERED: u64 = 100;

/// Another text is set in the candidate.
pub fn write_new(bed: &Bed, about: About) -> Result<Row> {
    let text = |call| format!("new {call}");
    let row = bed.measure(
        about,
        bed.one(),
        |call| commit(&bed.candidate, &[bed.set(bed.entry(call), &text(call))?]),
        |call, ()| {
            bed.expect_text(&bed.candidate, bed.entry(call), &text(call))?;
            match call % GATHERED {
                0 => bed.discard(),
                _ => Ok(()),
            }
        },
    )?;
    bed.discard()?;
    Ok(row)
}

/// An entry is deleted in the candidate.
pub fn delete_one(bed: &Bed, about: About) -> Result<Row> {
    bed.measure(
        about,
        bed.one(),
        |call| commit(&bed.candidate, &[bed.delete(bed.entry(call))?]),
        |call, ()| {
            bed.expect_gone(&bed.candidate, bed.entry(call))?;
            bed.discard()
        },
    )
}

/// Another text is set in the candidate, and the candidate is committed.
pub fn write_and_commit(bed: &Bed, about: About) -> Result<Row> {
    let text = |call| format!("committed {call}");
    let row = bed.measure(
        about,
        bed.one(),
        |call| {
            let edit = bed.set(bed.entry(call), &text(call))?;
            commit(&bed.candidate, &[edit])?;
            commit_candidate(bed)
        },
        |call, _| bed.expect_text(&bed.stand.tree, bed.entry(call), &text(call)),
    )?;
    bed.fill()?;
    Ok(row)
}

/// A candidate that changes nothing is committed.
pub fn commit_nothing(bed: &Bed, about: About) -> Result<Row> {
    bed.measure(
        about,
        bed.one(),
        |_| commit_candidate(bed),
        |_, is_changed| expect(!is_changed, || "something was committed".to_owned()),
    )
}

/// The edits of some entries, other ones for each call.
fn changes(bed: &Bed, call: u64) -> Result<Vec<Edit>> {
    let text = many_text(call);
    bed.entries(call)
        .map(|entry| bed.set(entry, &text))
        .collect()
}

fn many_text(call: u64) -> String {
    format!("many {call}")
}

/// A candidate with some changed entries is committed.
pub fn commit_many(bed: &Bed, about: About) -> Result<Row> {
    let prepare = |call| commit(&bed.candidate, &changes(bed, call)?);
    prepare(0)?;
    let row = bed.measure(
        about,
        bed.one(),
        |_| commit_candidate(bed),
        |call, _| {
            bed.expect_text(&bed.stand.tree, bed.entry(call), &many_text(call))?;
            prepare(call + 1)
        },
    )?;
    bed.discard()?;
    bed.fill()?;
    Ok(row)
}

/// A candidate with some deleted entries is validated.
pub fn validate_many(bed: &Bed, about: About) -> Result<Row> {
    let deletes = bed.entries(0).map(|entry| bed.delete(entry));
    commit(&bed.candidate, &deletes.collect::<Result<Vec<_>>>()?)?;
    let row = bed.measure(
        about,
        bed.one(),
        |_| Ok(bed.candidate.validate()?),
        |_, ()| bed.expect_gone(&bed.candidate, bed.entry(0)),
    )?;
    bed.discard()?;
    Ok(row)
}

/// A candidate with some changed entries is discarded.
pub fn discard(bed: &Bed, about: About) -> Result<Row> {
    let prepare = |call| commit(&bed.candidate, &changes(bed, call)?);
    prepare(0)?;
    let row = bed.measure(
        about,
        bed.one(),
        |_| bed.discard(),
        |call, ()| {
            let has_changes = bed.candidate.has_changes()?;
            expect(!has_changes, || "there are changes still".to_owned())?;
            prepare(call + 1)
        },
    )?;
    bed.discard()?;
    Ok(row)
}
