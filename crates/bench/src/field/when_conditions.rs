//! Case d: nodes under `when` conditions.

use super::report::{CHANGES_MAX, Change, Report};
use crate::dataset::expect;
use crate::generated_document::GeneratedDocument;
use crate::model_store::Model;
use espalier_terminal::Result;

const MODEL: Model = Model {
    name: "espalier-bench-whens",
    text: include_str!("../models/espalier-bench-whens.yang"),
};

const LIST: &str = "/espalier-bench-whens:ports/port";

/// The number of nodes under a `when` in each port.
const WHENS_PER_PORT: u64 = 2;

fn document(ports: u64) -> GeneratedDocument<'static> {
    let entries = (0..ports).map(|n| {
        format!(
            r#"{{"name":"port-{n:08}","type":"fast-ethernet","ethernet":{{"speed":100,"duplex":"full"}}}}"#
        )
    });
    let before = r#"{"espalier-bench-whens:ports":{"port":["#.to_owned();
    GeneratedDocument::lists(vec![(before, Box::new(entries))], "]}}")
}

/// Measures the case with `size` nodes under a `when`.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let ports = (size / WHENS_PER_PORT).max(2);
    let store = report.store(MODEL)?;
    let row = report.row(&store, "d: load all whens", size);
    let row = report.load_document(&store, row, document(ports))?;
    let found = store.count(LIST)?;
    expect(found == ports, || format!("{found} ports"))?;
    report.emit(&row)?;

    let changes = (0..CHANGES_MAX.min(ports))
        .map(|n| {
            let port = format!("{LIST}[name='port-{:08}']", (n * 7919) % ports);
            Ok(Change {
                edits: vec![store.set(&format!("{port}/type"), "optical")?],
                leaf: store.path(&format!("{port}/ethernet/duplex"))?,
                value: None,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(&store, "d: flip one when", size);
    let row = row.note("the nodes under it are removed");
    report.changes(&store, row, &changes)
}
