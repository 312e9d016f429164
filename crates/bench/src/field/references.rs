//! Case a: entries that each refer to another list. Case g: deleting what is referred to.

use espalier_store::{CommitOptions, Edit, Error};

use super::report::{CHANGES_MAX, Change, Report, effort};
use crate::dataset::expect;
use crate::harness::{Plan, measure};
use crate::pieces::Pieces;
use crate::stand::{Model, Stand};
use espalier_terminal::Result;

const MODEL: Model = Model {
    name: "espalier-bench-references",
    text: include_str!("../models/espalier-bench-references.yang"),
};

const LIST: &str = "/espalier-bench-references:references";

fn profiles(size: u64) -> Pieces<'static> {
    let entries = (0..size).map(|n| format!(r#"{{"name":"profile-{n:08}","rate":{n}}}"#));
    let before = r#"{"espalier-bench-references:references":{"profile":["#.to_owned();
    Pieces::lists(vec![(before, Box::new(entries))], "]}}")
}

fn services(size: u64) -> Pieces<'static> {
    let entries = (0..size).map(|n| {
        format!(r#"{{"name":"service-{n:08}","profile":"profile-{n:08}","text":"text {n}"}}"#)
    });
    let before = r#"{"espalier-bench-references:references":{"service":["#.to_owned();
    Pieces::lists(vec![(before, Box::new(entries))], "]}}")
}

/// A store with `size` profiles and a service for each.
fn filled(report: &Report<'_>, size: u64) -> Result<Stand> {
    let stand = report.stand(MODEL)?;
    stand.load(profiles(size))?;
    let tree = stand.document(services(size))?;
    stand.commit(&[Edit::merge(stand.path("/")?, tree)])?;
    Ok(stand)
}

/// Case a.
pub fn commit_all(report: &mut Report<'_>, size: u64) -> Result<()> {
    let stand = report.stand(MODEL)?;
    stand.load(profiles(size))?;
    let row = report.row(&stand, "a: commit all references", size);
    let row = report.commit_document(&stand, row, services(size))?;
    let found = stand.count(&format!("{LIST}/service"))?;
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
            Change::set(&stand, &path, &format!("profile-{profile:08}"))
        })
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(&stand, "a: change one reference", size);
    report.changes(&stand, row, &changes)
}

/// Case g.
pub fn delete_all(report: &mut Report<'_>, size: u64) -> Result<()> {
    let stand = filled(report, size)?;
    refused(report, &stand, size)?;
    spare(report, &stand, size)?;
    let both = ["profile", "service"].map(|list| stand.path(&format!("{LIST}/{list}")));
    let edits = both
        .into_iter()
        .map(|path| Ok(Edit::delete(path?)))
        .collect::<Result<Vec<_>>>()?;
    let raw = stand.raw_copy()?;
    let before = stand.effort();
    let mut timing = None;
    let trace = stand.traced(|| {
        timing = Some(measure(
            Plan::once(),
            |_| stand.commit(&edits),
            |_, commit| expect(commit.is_changed, || "nothing was deleted".to_owned()),
        )?);
        Ok(())
    })?;
    for list in ["profile", "service"] {
        let left = stand.count(&format!("{LIST}/{list}"))?;
        expect(left == 0, || format!("{left} entries of {list} are left"))?;
    }
    let raw = raw.map(|raw| raw.replay(&[trace])).transpose()?;
    let row = report.row(&stand, "g: delete a list and its referrers", size);
    let row = row
        .raw(raw.as_ref())
        .note(effort(before, stand.effort(), 1));
    report.emit(&timing.iter().fold(row, |row, timing| row.timed(timing)))
}

/// While referrers remain, the list cannot be deleted.
fn refused(report: &mut Report<'_>, stand: &Stand, size: u64) -> Result<()> {
    let edits = [Edit::delete(stand.path(&format!("{LIST}/profile"))?)];
    let before = stand.effort();
    let mut errors = 0;
    let timing = measure(
        Plan::few(3),
        |_| Ok(stand.tree.commit(&edits, CommitOptions::default())),
        |_, outcome| {
            if let Err(Error::Data(found)) = &outcome {
                errors = found.len() as u64;
            }
            expect(errors == size, || {
                format!("{errors} errors instead of {size}")
            })?;
            let left = stand.count(&format!("{LIST}/profile"))?;
            expect(left == size, || format!("{left} profiles are left"))
        },
    )?;
    let row = report.row(stand, "g: delete a list that is referred to", size);
    let row = row
        .timed(&timing)
        .note(format!("refused with {errors} errors"));
    let commits = timing.n;
    report.emit(&row.note(effort(before, stand.effort(), commits)))
}

/// An entry that nothing refers to can be deleted.
fn spare(report: &mut Report<'_>, stand: &Stand, size: u64) -> Result<()> {
    let count = CHANGES_MAX.min(size);
    let name = |n| format!("spare-{:08}", (n * 7919) % (count * 100));
    let entries = (0..count).map(|n| format!(r#"{{"name":"{}","rate":1}}"#, name(n)));
    let before = r#"{"espalier-bench-references:references":{"profile":["#.to_owned();
    let document = Pieces::lists(vec![(before, Box::new(entries))], "]}}");
    let tree = stand.document(document)?;
    stand.commit(&[Edit::merge(stand.path("/")?, tree)])?;
    let changes = (0..count)
        .map(|n| {
            let entry = stand.path(&format!("{LIST}/profile[name='{}']", name(n)))?;
            let leaf = stand.path(&format!("{LIST}/profile[name='{}']/rate", name(n)))?;
            Ok(Change {
                edits: vec![Edit::delete(entry)],
                leaf,
                value: None,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(stand, "g: delete one that nothing refers to", size);
    report.changes(stand, row, &changes)
}
