//! Decision records: `docs/decisions/NNNN-title.md`, numbered from 0001 without gaps.

use std::fs;
use std::io;
use std::path::Path;

use super::report::Report;

/// The folder of the decision records.
const FOLDER: &str = "docs/decisions";

/// The index page in the folder.
const INDEX: &str = "README.md";

/// Checks the numbers of the decision records.
pub fn check(root: &Path, report: &mut Report) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name != INDEX);
    names.sort();
    for (at, name) in names.iter().enumerate() {
        let expected = format!("{:04}-", at + 1);
        if !name.starts_with(&expected) {
            let message =
                format!("the decision {expected}… is expected here: number them without gaps");
            report.add(Path::new(FOLDER).join(name), 1, message);
            // All later numbers are off by one too: report only the first.
            break;
        }
    }
    Ok(())
}
