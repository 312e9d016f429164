//! Case c: constraints on entries that read their whole list.

use super::report::{CHANGES_MAX, Change, Report};
use crate::dataset::expect;
use crate::generated_document::{GeneratedDocument, List};
use crate::model_store::{Model, ModelStore};
use espalier_terminal::Result;

const MODEL: Model = Model {
    name: "espalier-bench-rules",
    text: include_str!("../models/espalier-bench-rules.yang"),
};

const RULES: &str = "/espalier-bench-rules:rules";

/// A document with entries of one of the lists.
fn document(list: &str, entries: List<'static>) -> GeneratedDocument<'static> {
    let before = format!(r#"{{"espalier-bench-rules:rules":{{"{list}":["#);
    GeneratedDocument::lists(vec![(before, entries)], "]}}")
}

/// Measures the case at a size.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let store = report.store(MODEL)?;
    counted(report, &store, size)?;
    cards(report, &store, size)
}

fn commit_all(
    report: &mut Report<'_>,
    store: &ModelStore,
    (list, name, size): (&str, &str, u64),
    entries: List<'static>,
) -> Result<()> {
    let row = report.row(store, name, size);
    let row = report.commit_document(store, row, document(list, entries))?;
    let found = store.count(&format!("{RULES}/{list}"))?;
    expect(found == size, || format!("{found} entries of {list}"))?;
    report.emit(&row)
}

fn counted(report: &mut Report<'_>, store: &ModelStore, size: u64) -> Result<()> {
    let entries = (0..size).map(|n| format!(r#"{{"name":"n{n:08}","text":"text {n}"}}"#));
    let what = ("counted", "c: commit all, under count()", size);
    commit_all(report, store, what, Box::new(entries))?;
    let added = (0..CHANGES_MAX.min(size))
        .map(|n| {
            let path = format!("{RULES}/counted[name='n{n:08}-more']/text");
            Change::set(store, &path, "added")
        })
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(store, "c: add one, under count()", size);
    report.changes(store, row, &added)
}

fn cards(report: &mut Report<'_>, store: &ModelStore, size: u64) -> Result<()> {
    let entries = (0..size).map(|n| format!(r#"{{"name":"card-{n:08}","slot":{n}}}"#));
    let what = ("card", "c: commit all, each unlike all others", size);
    commit_all(report, store, what, Box::new(entries))?;
    let slot = |n: u64| format!("{RULES}/card[name='card-{:08}']/slot", (n * 7919) % size);
    let changes = (0..CHANGES_MAX.min(size))
        .map(|n| Change::set(store, &slot(n), &(size + n).to_string()))
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(store, "c: change one, unlike all others", size);
    report.changes(store, row, &changes)?;
    // The value that another entry has since the second change: the last ones are made on engines with a raw client only.
    let taken = store.set(&slot(0), &(size + 1).to_string())?;
    let is_refused = store.commit(&[taken]).is_err();
    let free = store.set(&slot(0), &(3 * size).to_string())?;
    let is_free = store.commit(&[free]).is_ok();
    expect(is_refused && is_free, || {
        "the constraint was not enforced".to_owned()
    })
}
