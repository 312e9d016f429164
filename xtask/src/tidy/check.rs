//! Runs every rule.

use std::path::Path;

use super::report::Report;
use super::source::Source;
use super::{banned, edges, layout, length, source};

/// Checks the repository at `root`.
pub fn check(root: &Path) -> Result<Report, Box<dyn std::error::Error>> {
    let mut report = Report::default();
    edges::check(root, &mut report)?;
    layout::check_sibling_folders(root, &mut report)?;
    for path in source::rust_files(root)? {
        match Source::read(root, &path)? {
            Ok(source) => check_source(&source, &mut report),
            Err(problem) => report.problems.push(problem),
        }
    }
    report.problems.sort();
    Ok(report)
}

fn check_source(source: &Source, report: &mut Report) {
    report.files += 1;
    length::check(source, report);
    banned::check(source, report);
    layout::check_file(source, report);
}
