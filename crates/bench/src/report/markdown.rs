//! The Markdown report.

use std::fmt::Write;

use super::growth;
use super::page::Page;
use super::summary::{FACTORS, summaries};
use crate::output::duration;
use crate::row::Row;

/// The rows of the headlines, and their descriptions.
const HEADLINES: [(&str, &str, &str); 12] = [
    ("scale", "get one", "read one list entry"),
    ("scale", "set one", "change one leaf, validated and logged"),
    (
        "scale",
        "restconf get one",
        "GET of one entry over RESTCONF",
    ),
    (
        "field",
        "one-leaf commit: must, when and unique",
        "change one leaf under a must, a when and a unique",
    ),
    (
        "sysrepo",
        "modify an item",
        "sysrepo's bench: modify one leaf",
    ),
    (
        "sysrepo",
        "create batch",
        "sysrepo's bench: create all entries in one edit",
    ),
    ("clixon", "PUT 1", "Clixon's bench: PUT one entry"),
    (
        "cps",
        "Read datatree with all descendants",
        "ONAP CPS' bench: read everything",
    ),
    (
        "trifle",
        "TRACK of 23 values",
        "Trifle::Stats' bench: TRACK of 23 values",
    ),
    (
        "trifle",
        "ASSORT of 23 values",
        "Trifle::Stats' bench: ASSORT of 23 values",
    ),
    (
        "dodb",
        "get by index, again",
        "DODB's bench: one document by index",
    ),
    (
        "dodb",
        "partition",
        "DODB's bench: all documents of a partition",
    ),
];

impl Page<'_> {
    /// The report as Markdown: the headlines, then the tables of every suite.
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Performance\n\n");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (version, command) = (env!("CARGO_PKG_VERSION"), self.command);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "Espalier {version} on {cores} cores. This file is the output of\n\n```console\n$ {command}\n```\n\n\
             Figures of other systems were measured on another machine or at another time: compare orders of \
             magnitude, and growth with size.\n\n## Headlines\n\n"
        );
        text.push_str(&headlines(self.rows));
        for finding in self.findings() {
            let _ = write!(text, "\n## {}\n\n{}.\n\n", finding.title, finding.summary);
            for (reason, whats) in &finding.exceptions {
                let _ = writeln!(text, "- {reason}:");
                for what in whats {
                    let _ = writeln!(text, "  - {what}");
                }
            }
        }
        for table in summaries(&self.rows.iter().collect::<Vec<_>>()) {
            let _ = write!(text, "\n## {}\n\n{FACTORS}\n\n", table.title);
            line(&mut text, "row", &table.columns);
            text.push_str("|---|");
            text.push_str(&"---:|".repeat(table.columns.len()));
            text.push('\n');
            for (name, cells) in &table.lines {
                line(&mut text, name, cells);
            }
        }
        text
    }
}

fn line(text: &mut String, name: &str, cells: &[String]) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "| {} | {} |",
        name.replace('|', "\\|"),
        cells.join(" | ")
    );
}

/// The table of headlines: each row at the largest size for which another system has a figure, otherwise at the
/// largest size; and the growth since the smallest size for rows of one entry.
fn headlines(rows: &[Row]) -> String {
    let mut text = String::from(
        "| what | engine | size | median | growth | another system, at that size | it takes |\n|---|---|---:|---:|---:|---|---:|\n",
    );
    for (suite, name, about) in HEADLINES {
        let of_row = || {
            rows.iter()
                .filter(|row| row.suite == suite && row.row == name)
        };
        let engine = of_row()
            .map(Row::engine)
            .find(|engine| engine.starts_with("embedded"));
        let Some(engine) = engine.or_else(|| of_row().map(Row::engine).next()) else {
            continue;
        };
        let of_engine = || of_row().filter(|row| row.engine() == engine && row.median_s.is_some());
        let (Some(small), Some(large)) = (
            of_engine().min_by_key(|row| row.size),
            of_engine().max_by_key(|row| row.size),
        ) else {
            continue;
        };
        let with_peer = of_engine().filter(|row| !row.peer.is_empty());
        let shown = with_peer.max_by_key(|row| row.size).unwrap_or(large);
        let (theirs, times) = match shown.peer.first() {
            Some(peer) => (
                format!("{}: {}", peer.name, duration(Some(peer.seconds))),
                shown.times(peer),
            ),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let growth = match growth::is_one_entry(shown) && small.size < shown.size {
            true => format!(
                "{} since {}",
                shown.factor(shown.median_s, small.median_s),
                small.size
            ),
            false => "-".to_owned(),
        };
        let (size, median) = (shown.size, duration(shown.median_s));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {about} | {engine} | {size} | {median} | {growth} | {theirs} | {times} |"
        );
    }
    text
}
