//! Tables in the layout of the originals: rows down; engines or sizes across.

use std::fmt::Write;

use crate::output::duration;
use crate::row::Row;

/// A table.
pub struct Summary {
    /// The title.
    pub title: String,
    /// The column names; other systems come last.
    pub columns: Vec<String>,
    /// The lines: a name and the cells.
    pub lines: Vec<(String, Vec<String>)>,
}

/// Suites with engines across, as in their originals; the others have sizes across.
const ENGINES_ACROSS: [&str; 6] = ["sysrepo", "drivers", "trifle", "cps", "load", "processes"];

/// The tables of all rows: one for each suite and size with engines across, or one for each suite and engine with
/// sizes across.
pub fn summaries(rows: &[&Row]) -> Vec<Summary> {
    let mut tables = Vec::new();
    for suite in distinct(rows.iter().map(|row| row.suite.to_string())) {
        let of_suite = rows.iter().copied().filter(|row| row.suite == suite);
        let mut of_suite: Vec<&Row> = of_suite.filter(|row| row.median_s.is_some()).collect();
        of_suite.sort_by_key(|row| row.rank);
        let mut sizes = distinct(of_suite.iter().map(|row| row.size));
        sizes.sort_unstable();
        let with = |is_in: &dyn Fn(&Row) -> bool| -> Vec<&Row> {
            of_suite.iter().copied().filter(|row| is_in(row)).collect()
        };
        if ENGINES_ACROSS.contains(&suite.as_str()) {
            for size in sizes {
                let rows = with(&|row| row.size == size);
                let engines = distinct(rows.iter().map(|row| row.engine()));
                let mut table = table(format!("{suite}, {size}"), engines, &rows, Row::engine);
                add_peers(&mut table, &rows);
                tables.push(table);
            }
            continue;
        }
        for engine in distinct(of_suite.iter().map(|row| row.engine())) {
            let rows = with(&|row| row.engine() == engine);
            let sizes: Vec<_> = sizes.iter().map(u64::to_string).collect();
            let title = format!("{suite}, {engine}, by size");
            tables.push(table(title, sizes, &rows, |row| row.size.to_string()));
        }
    }
    tables
}

fn table(
    title: String,
    columns: Vec<String>,
    rows: &[&Row],
    column: impl Fn(&Row) -> String,
) -> Summary {
    let names = distinct(rows.iter().map(|row| row.row.clone()));
    let lines = names.into_iter().map(|name| {
        let cells = columns.iter().map(|label| {
            let mut of_name = rows.iter().filter(|row| row.row == name);
            let row = of_name.find(|row| column(row) == *label);
            row.map_or_else(|| "-".to_owned(), |row| cell(row))
        });
        let cells = cells.collect();
        (name, cells)
    });
    let lines = lines.collect();
    Summary {
        title,
        columns,
        lines,
    }
}

/// Adds a column for each other system.
fn add_peers(table: &mut Summary, rows: &[&Row]) {
    let names = rows
        .iter()
        .flat_map(|row| row.peer.iter().map(|peer| peer.name.clone()));
    for name in distinct(names) {
        for (line, cells) in &mut table.lines {
            let of_line = rows.iter().filter(|row| row.row == *line);
            let mut peers = of_line.flat_map(|row| &row.peer);
            let peer = peers.find(|peer| peer.name == name);
            cells.push(duration(peer.map(|peer| peer.seconds)));
        }
        table.columns.push(name);
    }
}

/// The median, and the ratio of the first other system to it.
fn cell(row: &Row) -> String {
    let median = duration(row.median_s);
    match row.peer.first() {
        Some(peer) => format!("{median} {}", row.times(peer)),
        None => median,
    }
}

/// The distinct items, in the order of their first occurrence.
pub fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// The explanation above tables with factors.
pub const FACTORS: &str = "Medians per operation, each followed by the ratio of the first other system's time \
                           to it (~1: less than the noise).";

/// The tables as text.
pub fn summary(rows: &[&Row]) -> String {
    let mut text = String::new();
    for table in summaries(rows) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}. {FACTORS}\n", table.title);
        let header = ("row".to_owned(), table.columns);
        let lines: Vec<_> = std::iter::once(header).chain(table.lines).collect();
        let first = lines
            .iter()
            .map(|line| line.0.chars().count())
            .max()
            .unwrap_or(0);
        let columns = lines.first().map_or(0, |line| line.1.len());
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                lines
                    .iter()
                    .map(|line| line.1[at].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for (name, cells) in lines {
            let _ = write!(text, "{name:<first$}");
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(text, "  {cell:>width$}");
            }
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Peer;

    fn row(name: &str, driver: &str, size: u64, rank: usize) -> Row {
        let mut row = Row::example("sysrepo", name, driver, size, 1e-3);
        row.rank = rank;
        row.peer.push(Peer {
            name: "sysrepo".to_owned(),
            seconds: 5e-3,
            source: String::new(),
        });
        row
    }

    #[test]
    fn engines_are_columns_and_rows_have_the_order_of_the_original() {
        let rows = [
            row("second", "file", 10, 1),
            row("first", "file", 10, 0),
            row("first", "sqlite", 10, 0),
        ];
        let tables = summaries(&rows.each_ref());
        assert_eq!(tables.len(), 1);
        assert_eq!(
            tables[0].columns,
            ["file relaxed", "sqlite relaxed", "sysrepo"]
        );
        let names: Vec<_> = tables[0].lines.iter().map(|line| line.0.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
        assert_eq!(tables[0].lines[1].1, ["1.00 ms x5.00", "-", "5.00 ms"]);
    }

    #[test]
    fn the_sizes_of_one_engine_are_columns() {
        let mut rows = [row("get", "file", 100, 0), row("get", "file", 10, 0)];
        for row in &mut rows {
            row.suite = "scale".into();
        }
        let tables = summaries(&rows.each_ref());
        assert_eq!(tables[0].columns, ["10", "100"]);
        assert!(summary(&rows.each_ref()).contains("scale, file relaxed, by size"));
    }
}
