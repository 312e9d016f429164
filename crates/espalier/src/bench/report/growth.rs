//! Rows whose work is one entry, and whether they grow with everything around it.

use std::fmt::Write;

use crate::bench::row::Row;

/// What a row of one entry may grow by while the size grows tenfold.
const GROWTH_MAX: f64 = 2.0;

/// Rows of one entry, or of a number of entries that does not change with the size: the suite, and what
/// their names are or begin with.
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

/// Rows of one entry that grow for a reason: the suite, the name, and the reason.
const REASONS: [(&str, &str, &str); 4] = [
    (
        "clixon",
        "read 1, xpath on non-key leaf",
        "the leaf has no index, so every entry is looked at; with an index it is one read",
    ),
    (
        "clixon",
        "GET page, limit=10&offset=N/2",
        "the keys before the offset are read and counted; a page after a key does not grow",
    ),
    (
        "clixon",
        "read 1, beside commits",
        "a reader waits for a core while the other session commits, not for the commit",
    ),
    (
        "dodb",
        "get by index",
        "memory that does not fit into the processor's caches takes longer to reach",
    ),
];

/// Said of a row that has no reason of its own.
const OTHERWISE: &str =
    "measure again with --repeat on an idle machine; if it stays, it is a fault";

/// How a row grew while the size grew tenfold.
struct Growth<'r> {
    large: &'r Row,
    small: u64,
    factor: f64,
}

/// What the report says of growth, as a line each.
pub fn lines(rows: &[Row]) -> Vec<String> {
    let (mut lines, mut within) = (Vec::new(), 0);
    for large in rows.iter().filter(|row| is_one_entry(row)) {
        let Some(growth) = growth(large, rows) else {
            continue;
        };
        if growth.factor <= GROWTH_MAX * (1.0 + large.noise()) {
            within += 1;
            continue;
        }
        let mut line = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            line,
            "{}: {}, {}: x{:.2} for each tenfold from {} to {}: {}",
            large.suite,
            large.row,
            large.engine(),
            growth.factor,
            growth.small,
            growth.large.size,
            reason(large)
        );
        lines.push(line);
    }
    lines.insert(
        0,
        format!("{within} rows of one entry grow by no more than x{GROWTH_MAX} (and their noise) for each tenfold size"),
    );
    lines
}

fn is_one_entry(row: &Row) -> bool {
    let of_suite = ONE_ENTRY.iter().find(|(suite, _)| row.suite == *suite);
    of_suite.is_some_and(|(_, names)| names.iter().any(|name| row.row.starts_with(name)))
}

fn reason(row: &Row) -> &'static str {
    let known = REASONS
        .iter()
        .find(|known| row.suite == known.0 && row.row == known.1);
    known.map_or(OTHERWISE, |known| known.2)
}

/// How a row grew from the smallest size of the same row, where it is the largest.
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
    use crate::bench::row::On;

    fn row(name: &str, size: u64, median: f64) -> Row {
        let on = On {
            driver: "memory".to_owned(),
            policy: "ram",
            durability: "none",
        };
        let mut row = Row::new("clixon", name, on, size);
        (row.median_s, row.min_s) = (Some(median), Some(median));
        row
    }

    #[test]
    fn what_grows_is_told_with_its_reason() {
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
        let lines = lines(&rows);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("1 rows"), "{}", lines[0]);
        assert!(
            lines[1].contains("x10.00") && lines[1].contains("no index"),
            "{}",
            lines[1]
        );
        assert!(
            lines[2].contains("DELETE 1") && lines[2].contains("fault"),
            "{}",
            lines[2]
        );
    }
}
