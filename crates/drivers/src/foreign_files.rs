//! Checks that the directory of a new store contains no foreign files.

use std::fs;
use std::io;
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::files::path_error;

/// Created by file systems in their root directory.
const LOST_AND_FOUND: &str = "lost+found";

/// Maximum number of file names in an error.
const NAMES_SHOWN_MAX: usize = 3;

/// The prefixes of the first files of a store, and the engine that creates them.
pub(crate) const STORES: [(&str, &str); 2] =
    [("espalier.format", "embedded"), ("espalier.data.", "file")];

/// Whether there is a file, or a directory that is not empty.
pub(crate) fn is_occupied(place: &Path) -> bool {
    match names(place) {
        Ok(names) => names.iter().any(|name| is_visible(name)),
        Err(_) => place.exists(),
    }
}

/// Whether a name is visible: not hidden, and not created by the file system.
pub(crate) fn is_visible(name: &str) -> bool {
    !name.starts_with('.') && name != LOST_AND_FOUND
}

/// Rejects a directory with foreign files: visible files without one of the prefixes `own`, which the
/// engine uses.
pub(crate) fn reject_foreign_files(dir: &Path, engine: &str, own: &[&str]) -> Result<()> {
    let is_foreign = |name: &String| {
        let is_own = own.iter().any(|own| name.starts_with(own));
        is_visible(name) && !is_own
    };
    let mut names = names(dir).map_err(path_error(dir, "read"))?;
    names.retain(is_foreign);
    names.sort();
    match names.is_empty() {
        true => Ok(()),
        false => Err(refusal(dir, engine, &names)),
    }
}

fn names(dir: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name()));
    let names = names.map(|name| name.map(|name| name.to_string_lossy().into_owned()));
    names.collect()
}

fn refusal(dir: &Path, engine: &str, names: &[String]) -> Error {
    let dir = dir.display();
    let is_of = |prefix: &str| names.iter().any(|name| name.starts_with(prefix));
    let store = STORES.iter().find(|(prefix, _)| is_of(prefix));
    let message = match store {
        Some((_, other)) => format!(
            "{dir} contains a store of another engine: open that one ({other}:{dir}), or name another directory"
        ),
        None => {
            let shown = names[..names.len().min(NAMES_SHOWN_MAX)].join(", ");
            let more = match names.len().saturating_sub(NAMES_SHOWN_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "{dir} contains no {engine} store, but {shown}{more}; for a new store, name an empty directory, or \
                 one that does not exist"
            )
        }
    };
    Error::new(ErrorKind::WrongVersion, message)
}
