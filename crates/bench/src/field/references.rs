//! Case a: entries that each refer to another list. Case g: deletes of referenced entries.

use espalier_store::{CommitOptions, Edit, Error};

use super::report::{CHANGES_MAX, Change, Report, validation_note};
use crate::dataset::expect;
use crate::generated_document::GeneratedDocument;
use crate::harness::{Repetitions, measure};
use crate::model_store::{Model, ModelStore};
use espalier_terminal::Result;

const MODEL: Model = Model {
    name: "espalier-bench-references",
    text: include_str!("../models/espalier-bench-references.yang"),
};

const LIST: &str = "/espalier-bench-references:references";

fn profiles(size: u64) -> GeneratedDocument<'static> {
    let entries = (0..size).map(|n| format!(r#"{{"name":"profile-{n:08}","rate":{n}}}"#));
    let before = r#"{"espalier-bench-references:references":{"profile":["#.to_owned();
    GeneratedDocument::lists(vec![(before, Box::new(entries))], "]}}")
}

fn services(size: u64) -> GeneratedDocument<'static> {
    let entries = (0..size).map(|n| {
        format!(r#"{{"name":"service-{n:08}","profile":"profile-{n:08}","text":"text {n}"}}"#)
    });
    let before = r#"{"espalier-bench-references:references":{"service":["#.to_owned();
    GeneratedDocument::lists(vec![(before, Box::new(entries))], "]}}")
}

/// A store with `size` profiles and a service for each.
fn filled(report: &Report<'_>, size: u64) -> Result<ModelStore> {
    let store = report.store(MODEL)?;
    store.load(profiles(size))?;
    let tree = store.document(services(size))?;
    store.commit(&[Edit::merge(store.path("/")?, tree)])?;
    Ok(store)
}

/// Case a.
pub fn commit_all(report: &mut Report<'_>, size: u64) -> Result<()> {
    let store = report.store(MODEL)?;
    store.load(profiles(size))?;
    let row = report.row(&store, "a: commit all references", size);
    let row = report.commit_document(&store, row, services(size))?;
    let found = store.count(&format!("{LIST}/service"))?;
    expect(found == size, || format!("{found} services"))?;
    report.emit(&row)?;

    let changes = (0..CHANGES_MAX.min(size))
        .map(|n| {
            let service = (n * 7919) % size;
            let profile = (service + 1 + n) % size;
            let profile = if profile == service {
                (profile + 1) % size
            } else {
                profile
            };
            let path = format!("{LIST}/service[name='service-{service:08}']/profile");
            Change::set(&store, &path, &format!("profile-{profile:08}"))
        })
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(&store, "a: change one reference", size);
    report.changes(&store, row, &changes)
}

/// Case g.
pub fn delete_all(report: &mut Report<'_>, size: u64) -> Result<()> {
    let store = filled(report, size)?;
    delete_referenced(report, &store, size)?;
    delete_unreferenced(report, &store, size)?;
    let both = ["profile", "service"].map(|list| store.path(&format!("{LIST}/{list}")));
    let edits = both
        .into_iter()
        .map(|path| Ok(Edit::delete(path?)))
        .collect::<Result<Vec<_>>>()?;
    let raw = store.raw_copy()?;
    let before = store.validation_cost();
    let mut timing = None;
    let trace = store.record(|| {
        timing = Some(measure(
            Repetitions::once(),
            |_| store.commit(&edits),
            |_, commit| expect(commit.is_changed, || "nothing was deleted".to_owned()),
        )?);
        Ok(())
    })?;
    for list in ["profile", "service"] {
        let left = store.count(&format!("{LIST}/{list}"))?;
        expect(left == 0, || format!("{left} entries of {list} are left"))?;
    }
    let raw = raw.map(|raw| raw.replay(&[trace])).transpose()?;
    let row = report.row(&store, "g: delete a list and its referrers", size);
    let row = row
        .raw(raw.as_ref())
        .note(validation_note(before, store.validation_cost(), 1));
    report.emit(&timing.iter().fold(row, |row, timing| row.timed(timing)))
}

/// Measures a delete that is rejected, because entries refer to the list.
fn delete_referenced(report: &mut Report<'_>, store: &ModelStore, size: u64) -> Result<()> {
    let edits = [Edit::delete(store.path(&format!("{LIST}/profile"))?)];
    let before = store.validation_cost();
    let mut errors = 0;
    let timing = measure(
        Repetitions::few(3),
        |_| Ok(store.tree.commit(&edits, CommitOptions::default())),
        |_, outcome| {
            if let Err(Error::Data(found)) = &outcome {
                errors = found.len() as u64;
            }
            expect(errors == size, || {
                format!("{errors} errors instead of {size}")
            })?;
            let left = store.count(&format!("{LIST}/profile"))?;
            expect(left == size, || format!("{left} profiles are left"))
        },
    )?;
    let row = report.row(store, "g: delete a list that is referred to", size);
    let row = row
        .timed(&timing)
        .note(format!("rejected with {errors} errors"));
    let commits = timing.n;
    report.emit(&row.note(validation_note(before, store.validation_cost(), commits)))
}

/// Measures deletes of entries without references.
fn delete_unreferenced(report: &mut Report<'_>, store: &ModelStore, size: u64) -> Result<()> {
    let count = CHANGES_MAX.min(size);
    let name = |n| format!("spare-{:08}", (n * 7919) % (count * 100));
    let entries = (0..count).map(|n| format!(r#"{{"name":"{}","rate":1}}"#, name(n)));
    let before = r#"{"espalier-bench-references:references":{"profile":["#.to_owned();
    let document = GeneratedDocument::lists(vec![(before, Box::new(entries))], "]}}");
    let tree = store.document(document)?;
    store.commit(&[Edit::merge(store.path("/")?, tree)])?;
    let changes = (0..count)
        .map(|n| {
            let entry = store.path(&format!("{LIST}/profile[name='{}']", name(n)))?;
            let leaf = store.path(&format!("{LIST}/profile[name='{}']/rate", name(n)))?;
            Ok(Change {
                edits: vec![Edit::delete(entry)],
                leaf,
                value: None,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(store, "g: delete one that nothing refers to", size);
    report.changes(store, row, &changes)
}
