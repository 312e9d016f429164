//! The names of the files in a directory.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_keyspace::Result;

use crate::file::NAME;
use crate::files::numbered_files;
use crate::foreign_files;

/// Prefix of data files, before the generation.
pub(super) const DATA: &str = "espalier.data.";

/// Prefix of journals, before the generation.
pub(super) const JOURNAL: &str = "espalier.journal.";

/// The lock file.
pub(super) const LOCK: &str = "espalier.lock";

/// The folder of documents.
pub(super) const DOCUMENTS: &str = "datastores";

/// Suffix of a file that is being written.
pub(super) const DRAFT: &str = "draft";

/// The data file of a generation.
pub(super) fn data(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("{DATA}{generation}"))
}

/// The journal of a generation.
pub(super) fn journal(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("{JOURNAL}{generation}"))
}

/// Appends a suffix to a path.
pub(super) fn with(path: &Path, more: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(".");
    name.push(more);
    name.into()
}

/// The unfinished drafts of files with a prefix; none if the directory cannot be read.
pub(super) fn drafts(dir: &Path, kind: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_draft = |name: &str| name.starts_with(kind) && name.ends_with(&format!(".{DRAFT}"));
    names
        .filter(|entry| entry.file_name().to_str().is_some_and(is_draft))
        .map(|entry| entry.path())
        .collect()
}

/// Rejects a directory that has no data file but foreign files.
pub(super) fn reject_foreign_files(dir: &Path) -> Result<()> {
    match numbered_files(dir, DATA) {
        Ok(found) if !found.is_empty() => Ok(()),
        _ => foreign_files::reject_foreign_files(dir, NAME, &[DATA, JOURNAL, LOCK, DOCUMENTS]),
    }
}
