//! What is in a directory in which a store is looked for, or a new one would be made: nothing, a store, or
//! what others have put there.

use std::fs;
use std::io;
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::files::io_error;

/// What file systems have in their topmost directory.
const LOST_AND_FOUND: &str = "lost+found";

/// Names that one error tells.
const TOLD_MAX: usize = 3;

/// What the names of the first files of a store begin with, and the engine that makes them.
pub(crate) const STORES: [(&str, &str); 2] =
    [("espalier.format", "embedded"), ("espalier.data.", "file")];

/// Whether there is a file, or a directory with something in it.
pub(crate) fn is_occupied(place: &Path) -> bool {
    match names(place) {
        Ok(names) => names.iter().any(|name| is_visible(name)),
        Err(_) => place.exists(),
    }
}

/// Whether a name is one that somebody gave: not what is hidden, nor of the file system.
pub(crate) fn is_visible(name: &str) -> bool {
    !name.starts_with('.') && name != LOST_AND_FOUND
}

/// Refuses a directory that holds what a new store of `engine` would lie among: anything but what is hidden,
/// and the engine's own files, whose names begin with one of `own`.
pub(crate) fn reject_foreign_files(dir: &Path, engine: &str, own: &[&str]) -> Result<()> {
    let is_stranger = |name: &String| {
        let is_own = own.iter().any(|own| name.starts_with(own));
        is_visible(name) && !is_own
    };
    let mut names =
        names(dir).map_err(|error| io_error(format!("{} cannot be read", dir.display()), error))?;
    names.retain(is_stranger);
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
            "{dir} holds a store of another engine: name that ({other}:{dir}), or another directory"
        ),
        None => {
            let told = names[..names.len().min(TOLD_MAX)].join(", ");
            let more = match names.len().saturating_sub(TOLD_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "{dir} holds no store of {engine}:, but {told}{more}; a new one is made where there is nothing: \
                 name an empty directory, or one that does not exist"
            )
        }
    };
    Error::new(ErrorKind::WrongVersion, message)
}
