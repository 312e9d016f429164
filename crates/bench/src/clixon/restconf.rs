//! Rows over RESTCONF, on one keep-alive connection to a server in this process.

use espalier_store::Edit;
use serde_json::Value;

use super::fixture::{Fixture, MODEL, RowSpec, commit};
use crate::dataset::expect;
use crate::harness::Repetitions;
use crate::http::{Connection, Request, Server};
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The resource of the container.
const ALL: &str = "/restconf/data/espalier-bench-large-list:x";

/// Entries in a page.
const PAGE: u64 = 10;

/// Runs an operation with a connection to a server that serves running.
fn connected<T>(
    fixture: &Fixture,
    operation: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    let server = Server::start(fixture.store.tree.clone(), MODEL.source())?;
    let mut connection = server.connect()?;
    let result = operation(&mut connection);
    drop(connection);
    server.stop()?;
    result
}

fn resource(entry: u64) -> String {
    format!("{ALL}/y={entry}")
}

/// The body of one entry.
fn body(entry: u64, text: &str) -> String {
    format!(r#"{{"{}:y":[{{"a":{entry},"b":"{text}"}}]}}"#, MODEL.name)
}

/// Fails unless a document has exactly the entries `first` to `first + count`.
fn expect_entries(document: &[u8], first: u64, count: u64) -> Result<()> {
    let document: Value = serde_json::from_slice(document)
        .map_err(|error| Failure::data(format!("the response is not JSON: {error}")))?;
    let container = format!("{}:x", MODEL.name);
    let list = format!("{}:y", MODEL.name);
    let entries = document[&list].as_array();
    let entries = entries.or_else(|| document[&container]["y"].as_array());
    let entries = entries.map_or(&[] as &[Value], Vec::as_slice);
    let found: Vec<_> = entries.iter().map(|entry| entry["a"].as_u64()).collect();
    let expected: Vec<_> = (first..first + count).map(Some).collect();
    expect(found == expected, || {
        format!("{} entries from {:?}", found.len(), found.first())
    })
}

/// GET of the container.
pub fn get_all(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    connected(fixture, |connection| {
        fixture.measure(
            spec,
            fixture.all_entries_repetitions(),
            |_| Ok(connection.get(ALL)?.to_vec()),
            |_, document| expect_entries(&document, 0, fixture.size),
        )
    })
}

/// PUT of the container, replacing as many entries with other texts, or creating all.
pub fn put_all(fixture: &Fixture, spec: RowSpec, status: u16) -> Result<Row> {
    let bodies = ["one", "other"].map(|word| fixture.document(|n| format!("{word} {n}")));
    let body = |call: u64| &bodies[call as usize % bodies.len()];
    let is_empty = status == CREATED;
    if is_empty {
        fixture.empty()?;
    }
    let row = connected(fixture, |connection| {
        fixture.measure(
            spec,
            fixture.all_entries_repetitions(),
            |call| {
                connection.send(Request {
                    method: "PUT",
                    path: ALL,
                    body: body(call),
                    status,
                })?;
                Ok(())
            },
            |call, ()| {
                fixture.expect_count(&fixture.store.tree, fixture.size)?;
                let (entry, word) = (fixture.entry(call), ["one", "other"][call as usize % 2]);
                fixture.expect_text(&fixture.store.tree, entry, &format!("{word} {entry}"))?;
                match is_empty {
                    true => fixture.empty(),
                    false => Ok(()),
                }
            },
        )
    })?;
    fixture.fill()?;
    Ok(row)
}

/// The status of a PUT that created a resource.
pub const CREATED: u16 = 201;

/// The status of a PUT that replaced a resource.
pub const NO_CONTENT: u16 = 204;

/// GET of one entry.
pub fn get_one(fixture: &Fixture, spec: RowSpec, query: &str) -> Result<Row> {
    connected(fixture, |connection| {
        fixture.measure(
            spec,
            fixture.one_entry_repetitions(),
            |call| {
                let path = resource(fixture.entry(call));
                Ok(connection.get(&format!("{path}{query}"))?.to_vec())
            },
            |call, document| expect_entries(&document, fixture.entry(call), 1),
        )
    })
}

/// Sets a new text of one entry.
pub fn write_one(fixture: &Fixture, spec: RowSpec, method: &str) -> Result<Row> {
    let text = |call| format!("{method} {call}");
    let row = connected(fixture, |connection| {
        fixture.measure(
            spec,
            fixture.one_entry_repetitions(),
            |call| {
                let entry = fixture.entry(call);
                connection.send(Request {
                    method,
                    path: &resource(entry),
                    body: &body(entry, &text(call)),
                    status: NO_CONTENT,
                })?;
                Ok(())
            },
            |call, ()| fixture.expect_text(&fixture.store.tree, fixture.entry(call), &text(call)),
        )
    })?;
    fixture.fill()?;
    Ok(row)
}

/// POST of a new entry, which is deleted outside the measured time.
pub fn post_one(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let entry = fixture.size;
    connected(fixture, |connection| {
        fixture.measure(
            spec,
            fixture.one_entry_repetitions(),
            |call| {
                connection.send(Request {
                    method: "POST",
                    path: ALL,
                    body: &body(entry, &call.to_string()),
                    status: CREATED,
                })?;
                Ok(())
            },
            |call, ()| {
                fixture.expect_text(&fixture.store.tree, entry, &call.to_string())?;
                commit(&fixture.store.tree, &[fixture.delete(entry)?])
            },
        )
    })
}

/// DELETE of an entry, which is restored outside the measured time.
pub fn delete_one(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    connected(fixture, |connection| {
        fixture.measure(
            spec,
            fixture.one_entry_repetitions(),
            |call| {
                connection.send(Request {
                    method: "DELETE",
                    path: &resource(fixture.entry(call)),
                    body: "",
                    status: NO_CONTENT,
                })?;
                Ok(())
            },
            |call, ()| {
                let entry = fixture.entry(call);
                fixture.expect_gone(&fixture.store.tree, entry)?;
                let back: Edit = fixture.set(entry, &entry.to_string())?;
                commit(&fixture.store.tree, &[back])
            },
        )
    })
}

/// GET of a page of the list, from an offset.
pub fn page(fixture: &Fixture, spec: RowSpec, offset: u64) -> Result<Row> {
    let path = match offset {
        0 => format!("{ALL}/y?limit={PAGE}"),
        _ => format!("{ALL}/y?limit={PAGE}&offset={offset}"),
    };
    let plan = match offset {
        0 => fixture.one_entry_repetitions(),
        _ => Repetitions::few(50),
    };
    let count = PAGE.min(fixture.size - offset);
    connected(fixture, |connection| {
        fixture.measure(
            spec,
            plan,
            |_| Ok(connection.get(&path)?.to_vec()),
            |_, document| expect_entries(&document, offset, count),
        )
    })
}

/// GET of a page of the list, from a cursor at its middle.
pub fn page_at_cursor(fixture: &Fixture, spec: RowSpec) -> Result<Row> {
    let middle = fixture.size / 2;
    let before = format!("{ALL}/y?limit=1&offset={}", middle.saturating_sub(1));
    let count = PAGE.min(fixture.size - middle);
    connected(fixture, |connection| {
        let document: Value = serde_json::from_slice(connection.get(&before)?)
            .map_err(|error| Failure::data(format!("the response is not JSON: {error}")))?;
        let list = format!("{}:y", MODEL.name);
        let cursor = document[&list][0]["@"]["ietf-list-pagination:next"].as_str();
        let cursor = cursor.ok_or_else(|| Failure::data("the page has no cursor".to_owned()))?;
        let path = format!("{ALL}/y?limit={PAGE}&cursor={cursor}");
        fixture.measure(
            spec,
            fixture.one_entry_repetitions(),
            |_| Ok(connection.get(&path)?.to_vec()),
            |_, document| expect_entries(&document, middle, count),
        )
    })
}
