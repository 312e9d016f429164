//! Rejects files in the documents folder that are not documents of the store: somebody created them on
//! purpose.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use espalier_keyspace::{Document, Error, ErrorKind, Result};

use super::names::DOCUMENTS;
use super::open::Engine;
use crate::files::path_error;

/// File extensions of documents. Other files are ignored: editors and the engine itself create them next to
/// a document.
const DOCUMENT_EXTENSIONS: [&str; 2] = ["json", "xml"];

/// Maximum depth of subfolders; documents are three levels deep.
const DEPTH_MAX: usize = 8;

/// Maximum number of names in an error.
const NAMES_SHOWN_MAX: usize = 8;

/// Rejects files with a document's extension that are not, and never were, documents.
pub(super) fn reject_unknown_documents(engine: &Engine, documents: &[Document]) -> Result<()> {
    let folder = engine.dir.join(DOCUMENTS);
    let mut found = Vec::new();
    collect(&folder, 0, &mut found).map_err(path_error(&folder, "read"))?;
    let log = engine.log.lock();
    let is_known = |path: &PathBuf| {
        let name = name(&folder, path);
        documents.iter().any(|document| document.name == name) || log.documents.contains_key(&name)
    };
    found.retain(|path| !is_known(path));
    found.sort();
    match found.first() {
        Some(first) => Err(unknown_document_error(
            &folder,
            first,
            found.len() - 1,
            documents,
        )),
        None => Ok(()),
    }
}

/// Collects the files below a folder that have a document's extension.
fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let path = entry.path();
        if is_hidden {
            continue;
        } else if entry.file_type()?.is_dir() {
            if depth < DEPTH_MAX {
                collect(&path, depth + 1, found)?;
            }
        } else if has_document_extension(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn has_document_extension(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    end.is_some_and(|end| {
        DOCUMENT_EXTENSIONS
            .iter()
            .any(|meant| end.eq_ignore_ascii_case(meant))
    })
}

/// The document name of a file.
fn name(folder: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).iter();
    let parts: Vec<_> = parts.map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The error for an unknown file, with a remedy. It names the documents in the same folder first, as the
/// most likely ones.
fn unknown_document_error(
    folder: &Path,
    path: &Path,
    others: usize,
    documents: &[Document],
) -> Error {
    let all = || documents.iter().map(|document| document.name.as_str());
    let is_in_same_folder = |name: &&str| path.parent() == folder.join(name).parent();
    let mut names: Vec<_> = all().filter(is_in_same_folder).collect();
    if names.is_empty() {
        names = all().collect();
    }
    let more = match others {
        0 => String::new(),
        others => format!(" ({others} more files are not either)"),
    };
    let (path, folder) = (path.display(), folder.display());
    let shown = names.len().min(NAMES_SHOWN_MAX);
    let rest = match names.len() - shown {
        0 => "",
        _ => ", ...",
    };
    let remedy = match shown {
        0 => "this store has no documents yet: create its data first, and move the file away"
            .to_owned(),
        _ => format!(
            "rename it to the intended document, or move it out of {folder}; documents are {}{rest}",
            names[..shown].join(", ")
        ),
    };
    let message =
        format!("{path} is not a document of this store, and would be ignored{more}: {remedy}");
    Error::new(ErrorKind::Aborted, message)
}
