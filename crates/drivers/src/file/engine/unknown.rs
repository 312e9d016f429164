//! Files among the documents that are none: a person who made one meant something by it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use espalier_keyspace::{Document, Error, ErrorKind, Result};

use super::names::DOCUMENTS;
use super::open::Engine;
use crate::files::io_error;

/// What the names of files end in that were meant as documents. Others are left alone: what editors
/// leave behind, and what the engine itself puts beside a document.
const MEANT: [&str; 2] = ["json", "xml"];

/// Folders within folders are followed this far: documents lie three deep.
const DEPTH_MAX: usize = 8;

/// Names that one error tells.
const TOLD_MAX: usize = 8;

/// Refuses files that were meant as documents and are none of these, nor were any.
pub(super) fn refuse_unknown(engine: &Engine, documents: &[Document]) -> Result<()> {
    let folder = engine.dir.join(DOCUMENTS);
    let mut found = Vec::new();
    collect(&folder, 0, &mut found).map_err(|error| {
        let act = format!("{} cannot be read", folder.display());
        io_error(act, error)
    })?;
    let log = engine.log.lock();
    let is_known = |path: &PathBuf| {
        let name = name(&folder, path);
        documents.iter().any(|document| document.name == name) || log.documents.contains_key(&name)
    };
    found.retain(|path| !is_known(path));
    found.sort();
    match found.first() {
        Some(first) => Err(refusal(&folder, first, found.len() - 1, documents)),
        None => Ok(()),
    }
}

/// The files below a folder that were meant as documents.
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
        } else if is_meant(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_meant(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    end.is_some_and(|end| MEANT.iter().any(|meant| end.eq_ignore_ascii_case(meant)))
}

/// The name that a file has as a document.
fn name(folder: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).iter();
    let parts: Vec<_> = parts.map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// What is wrong, and what to do. Documents in the same folder are the likeliest to be meant.
fn refusal(folder: &Path, path: &Path, others: usize, documents: &[Document]) -> Error {
    let all = || documents.iter().map(|document| document.name.as_str());
    let beside = |name: &&str| path.parent() == folder.join(name).parent();
    let mut names: Vec<_> = all().filter(beside).collect();
    if names.is_empty() {
        names = all().collect();
    }
    let more = match others {
        0 => String::new(),
        others => format!(" ({others} more files are none either)"),
    };
    let (path, folder) = (path.display(), folder.display());
    let told = names.len().min(TOLD_MAX);
    let rest = match names.len() - told {
        0 => "",
        _ => ", ...",
    };
    let choice = match told {
        0 => "this store has no documents yet: make its data first, and move the file away"
            .to_owned(),
        _ => format!(
            "rename it to the document that it is to be, or move it out of {folder}; documents are {}{rest}",
            names[..told].join(", ")
        ),
    };
    let message =
        format!("{path} is no document of this store, and would not be read{more}: {choice}");
    Error::new(ErrorKind::Aborted, message)
}
