//! Runs every rule.

use std::path::Path;

use super::report::Report;
use super::source::Source;
use super::{banned, circles, decisions, edges, front_ends, layout, length, source};

/// Checks the repository at `root`.
pub fn check(root: &Path) -> Result<Report, Box<dyn std::error::Error>> {
    let mut report = Report::default();
    edges::check(root, &mut report)?;
    layout::check_sibling_folders(root, &mut report)?;
    decisions::check(root, &mut report)?;
    let mut sources = Vec::new();
    for path in source::rust_files(root)? {
        match Source::read(root, &path)? {
            Ok(source) => sources.push(source),
            Err(problem) => report.problems.push(problem),
        }
    }
    for source in &sources {
        check_source(source, &mut report);
    }
    circles::check(&sources, &mut report);
    report.problems.sort();
    Ok(report)
}

fn check_source(source: &Source, report: &mut Report) {
    report.files += 1;
    length::check(source, report);
    banned::check(source, report);
    front_ends::check(source, report);
    layout::check_file(source, report);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let root = root.canonicalize().expect("the repository");
        let report = check(&root).expect("files to read");
        let problems: Vec<_> = report.problems.iter().map(ToString::to_string).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        assert!(report.files > 100, "only {} files", report.files);
    }
}
