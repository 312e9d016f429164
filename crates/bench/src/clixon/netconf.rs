//! Rows over NETCONF, in one session with a server in this process.

use espalier_store::Tree;

use super::fixture::{Fixture, RowSpec, commit, expect_entry};
use crate::dataset::expect;
use crate::harness::Repetitions;
use crate::netconf::Session;
use crate::row::Row;
use espalier_terminal::Result;

/// Measures requests of a session; each is a list of operations whose last reply is checked.
fn measured(
    fixture: &Fixture,
    spec: RowSpec,
    plan: Repetitions,
    operations: &dyn Fn(u64) -> Vec<String>,
    check: &dyn Fn(u64, &[u8]) -> Result<()>,
) -> Result<Row> {
    let mut session = Session::start(fixture.store.tree.clone())?;
    let row = fixture.measure(
        spec,
        plan,
        |call| {
            let mut reply = Vec::new();
            for operation in operations(call) {
                reply.clear();
                reply.extend_from_slice(session.request(&operation)?);
            }
            Ok(reply)
        },
        |call, reply| check(call, &reply),
    )?;
    session.close()?;
    Ok(row)
}

/// The namespace of the model.
const NAMESPACE: &str = "urn:espalier:bench-large-list";

const COMMIT: &str = "<commit/>";

/// An `edit-config` of the candidate with entries.
fn edit(operation: &str, entries: &str) -> String {
    format!(
        "<edit-config><target><candidate/></target><default-operation>{operation}</default-operation>\
         <config><x xmlns=\"{0}\">{entries}</x></config></edit-config>",
        NAMESPACE
    )
}

fn set(entry: u64, text: &str) -> String {
    edit("merge", &format!("<y><a>{entry}</a><b>{text}</b></y>"))
}

fn delete(entry: u64) -> String {
    let deleted = "xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\"";
    edit("none", &format!("<y {deleted}><a>{entry}</a></y>"))
}

fn get(filter: &str) -> String {
    format!("<get-config><source><running/></source>{filter}</get-config>")
}

fn write_all_edit(fixture: &Fixture) -> String {
    let entries = (0..fixture.size).map(|entry| format!("<y><a>{entry}</a><b>{entry}</b></y>"));
    edit("replace", &entries.collect::<String>())
}

/// `edit-config` of the candidate with every entry; running is empty.
pub fn write_all(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let edit = write_all_edit(fixture);
    let plan = fixture.all_entries_repetitions();
    measured(fixture, spec, plan, &|_| vec![edit.clone()], &|_, _| {
        fixture.expect_count(&fixture.candidate, fixture.size)?;
        fixture.discard()
    })
}

/// `commit` of a candidate with every entry to empty running.
pub fn commit_all(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let document = fixture.first_document();
    fixture.put(&fixture.candidate, &document)?;
    let plan = fixture.all_entries_repetitions();
    let commit = |_| vec![COMMIT.to_owned()];
    let row = measured(fixture, spec, plan, &commit, &|_, _| {
        fixture.expect_count(&fixture.store.tree, fixture.size)?;
        fixture.empty()?;
        fixture.put(&fixture.candidate, &document)
    })?;
    fixture.discard()?;
    Ok(row)
}

/// `get-config` of running.
pub fn read_all(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let plan = fixture.all_entries_repetitions();
    measured(fixture, spec, plan, &|_| vec![get("")], &|_, reply| {
        let found = reply.windows(4).filter(|text| text == b"</y>").count();
        expect(found as u64 == fixture.size, || format!("{found} entries"))
    })
}

/// `get-config` with an XPath filter for the key of an entry.
pub fn read_by_xpath(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    read_one(fixture, spec, &|entry| {
        format!(
            "<filter type=\"xpath\" xmlns:m=\"{}\" select=\"/m:x/m:y[m:a='{entry}']\"/>",
            NAMESPACE
        )
    })
}

/// `get-config` with a subtree filter for the key of an entry.
pub fn read_by_subtree(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    read_one(fixture, spec, &|entry| {
        format!(
            "<filter type=\"subtree\"><x xmlns=\"{}\"><y><a>{entry}</a></y></x></filter>",
            NAMESPACE
        )
    })
}

fn read_one(fixture: &Fixture, spec: RowSpec, filter: &dyn Fn(u64) -> String) -> Result<Row> {
    let plan = fixture.one_entry_repetitions();
    let read = |call| vec![get(&filter(fixture.entry(call)))];
    measured(fixture, spec, plan, &read, &|call, reply| {
        let entry = fixture.entry(call);
        expect_entry(reply, entry, &entry.to_string())
    })
}

/// `edit-config` of one entry in the candidate, and `commit`.
pub fn write_and_commit(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let text = |call| format!("over NETCONF {call}");
    let plan = fixture.one_entry_repetitions();
    let write = |call| vec![set(fixture.entry(call), &text(call)), COMMIT.to_owned()];
    let tree: &Tree = &fixture.store.tree;
    let row = measured(fixture, spec, plan, &write, &|call, _| {
        fixture.expect_text(tree, fixture.entry(call), &text(call))
    })?;
    fixture.fill()?;
    Ok(row)
}

/// `edit-config` that deletes one entry in the candidate, and `commit`; restored outside the measured time.
pub fn delete_and_commit(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let plan = fixture.one_entry_repetitions();
    let write = |call| vec![delete(fixture.entry(call)), COMMIT.to_owned()];
    let tree: &Tree = &fixture.store.tree;
    measured(fixture, spec, plan, &write, &|call, _| {
        let entry = fixture.entry(call);
        fixture.expect_gone(tree, entry)?;
        commit(tree, &[fixture.set(entry, &entry.to_string())?])
    })
}
