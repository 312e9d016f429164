//! Case d: nodes that are there under conditions.

use super::report::{CHANGES_MAX, Change, Report};
use crate::dataset::expect;
use crate::pieces::Pieces;
use crate::stand::Model;
use espalier_terminal::Result;

const MODEL: Model = Model {
    name: "espalier-bench-whens",
    text: include_str!("../models/espalier-bench-whens.yang"),
};

const LIST: &str = "/espalier-bench-whens:ports/port";

/// Nodes under a `when` in each port.
const WHENS_PER_PORT: u64 = 2;

fn document(ports: u64) -> Pieces<'static> {
    let entries = (0..ports).map(|n| {
        format!(
            r#"{{"name":"port-{n:08}","type":"fast-ethernet","ethernet":{{"speed":100,"duplex":"full"}}}}"#
        )
    });
    let before = r#"{"espalier-bench-whens:ports":{"port":["#.to_owned();
    Pieces::lists(vec![(before, Box::new(entries))], "]}}")
}

/// Measures it at a size: so many nodes under a `when`.
pub fn run(report: &mut Report<'_>, size: u64) -> Result<()> {
    let ports = (size / WHENS_PER_PORT).max(2);
    let stand = report.stand(MODEL)?;
    let row = report.row(&stand, "d: load all whens", size);
    let row = report.load_document(&stand, row, document(ports))?;
    let found = stand.count(LIST)?;
    expect(found == ports, || format!("{found} ports"))?;
    report.emit(&row)?;

    let changes = (0..CHANGES_MAX.min(ports))
        .map(|n| {
            let port = format!("{LIST}[name='port-{:08}']", (n * 7919) % ports);
            Ok(Change {
                edits: vec![stand.set(&format!("{port}/type"), "optical")?],
                leaf: stand.path(&format!("{port}/ethernet/duplex"))?,
                value: None,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let row = report.row(&stand, "d: flip one when", size);
    let row = row.note("what it held goes");
    report.changes(&stand, row, &changes)
}
