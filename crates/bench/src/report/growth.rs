//! The growth of rows whose operation is on one entry, with the amount of data around it.

use super::page::Finding;
use super::reasons::{self, FindingKind};
use crate::row::Row;

/// The largest accepted growth of a row of one entry for a tenfold size.
const GROWTH_MAX: f64 = 2.0;

/// Rows of one entry, or of a number of entries that does not depend on the size: the suite, and names or prefixes of
/// names.
const ONE_ENTRY: [(&str, &[&str]); 7] = [
    (
        "scale",
        &["get one", "set one", "page of 10", "restconf get one"],
    ),
    (
        "field",
        &[
            "one-leaf",
            "a: change",
            "b: add a device",
            "c: add one",
            "c: change one",
            "d: flip",
            "e: ten",
            "e: discard",
            "g: delete one",
            "h: read one, idle",
        ],
    ),
    ("sysrepo", SYSREPO),
    ("drivers", SYSREPO),
    (
        "clixon",
        &[
            "read 1",
            "write 1",
            "delete 1",
            "commit, ",
            "validate, ",
            "discard",
            "GET 1",
            "PUT 1",
            "PATCH 1",
            "POST 1",
            "DELETE 1",
            "GET page",
        ],
    ),
    (
        "cps",
        &[
            "Read datatree with no descendants",
            "Read non-existing xpaths",
            "Query 1 anchor non-existing data",
        ],
    ),
    ("dodb", &["get by index", "add"]),
];

const SYSREPO: &[&str] = &[
    "get tree",
    "get item",
    "create an item",
    "modify an item",
    "remove an item",
];

/// The growth of a row for a tenfold size.
struct Growth<'r> {
    large: &'r Row,
    small: u64,
    factor: f64,
}

/// The finding about growth.
pub fn finding(rows: &[Row]) -> Finding {
    let (mut exceptions, mut within) = (Vec::new(), 0);
    for large in rows.iter().filter(|row| is_one_entry(row)) {
        let Some(growth) = growth(large, rows) else {
            continue;
        };
        if growth.factor <= GROWTH_MAX * (1.0 + large.noise()) {
            within += 1;
            continue;
        }
        let (engine, size) = (large.engine(), growth.large.size);
        let what = format!(
            "{}: {}, {engine}: x{:.2} for each tenfold from {} to {size}",
            large.suite, large.row, growth.factor, growth.small
        );
        exceptions.push((reasons::of(FindingKind::Growth, large), what));
    }
    let summary = format!(
        "{within} rows of one entry grow by at most x{GROWTH_MAX} (plus noise) for each tenfold size"
    );
    Finding::new("Growth", summary, exceptions)
}

/// Returns whether the operation of a row is on one entry, or on a number that does not depend on the size.
pub fn is_one_entry(row: &Row) -> bool {
    let of_suite = ONE_ENTRY.iter().find(|(suite, _)| row.suite == *suite);
    of_suite.is_some_and(|(_, names)| names.iter().any(|name| row.row.starts_with(name)))
}

/// The growth of a row from its smallest size, if `large` is its largest.
fn growth<'r>(large: &'r Row, rows: &[Row]) -> Option<Growth<'r>> {
    let same = || {
        rows.iter()
            .filter(|row| row.key() == large.key() && row.median_s.is_some())
    };
    let small = same().min_by_key(|row| row.size)?;
    if small.size == large.size || same().any(|row| row.size > large.size) {
        return None;
    }
    let decades = (large.size as f64 / small.size as f64).log10();
    let ratio = large.median_s? / small.median_s?;
    Some(Growth {
        large,
        small: small.size,
        factor: ratio.powf(1.0 / decades),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, size: u64, median: f64) -> Row {
        Row::example("clixon", name, "memory", size, median)
    }

    #[test]
    fn growing_rows_are_reported_with_their_reason() {
        let rows = [
            row("write 1, new value", 100, 1e-6),
            row("write 1, new value", 10_000, 3e-6),
            row("read 1, xpath on non-key leaf", 100, 1e-6),
            row("read 1, xpath on non-key leaf", 10_000, 1e-4),
            row("DELETE 1", 100, 1e-6),
            row("DELETE 1", 1_000, 5e-6),
            row("read N", 100, 1e-6),
            row("read N", 1_000, 1e-5),
        ];
        let finding = finding(&rows);
        assert!(finding.summary.starts_with("1 rows"), "{}", finding.summary);
        let [(first, firsts), (second, seconds)] = finding.exceptions.as_slice() else {
            panic!("{:?}", finding.exceptions);
        };
        assert!(
            first.contains("no index") && firsts[0].contains("x10.00"),
            "{first} {firsts:?}"
        );
        assert!(
            second.contains("fault") && seconds[0].contains("DELETE 1"),
            "{second} {seconds:?}"
        );
    }
}
