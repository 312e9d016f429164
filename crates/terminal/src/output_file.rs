//! Files that commands write: readable by their owner only, complete or absent, and never overwriting an existing
//! file or a store by accident.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result};
use crate::output::escaped;

/// What to do if the file exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Ask the user on a terminal; otherwise it is an error.
    #[default]
    Ask,
    /// Replace it.
    Replace,
}

impl Existing {
    /// Converts the flag `--force`.
    pub fn of(force: bool) -> Self {
        match force {
            true => Self::Replace,
            false => Self::Ask,
        }
    }
}

/// A file that gets its name when it is complete.
pub struct OutputFile {
    path: PathBuf,
    file: Draft,
}

enum Draft {
    /// A temporary file in the same folder, renamed at the end.
    Temporary(NamedTempFile),
    /// A device or a pipe, written to directly.
    Special(File),
}

impl OutputFile {
    /// Creates the file. Call [`check`] first, before the command does anything, to find out whether it may be
    /// written.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |error| cannot_write(path, &error);
        let found = fs::metadata(path).ok();
        if found.is_some_and(|found| !found.is_file()) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(Self {
                path: path.to_owned(),
                file: Draft::Special(file),
            });
        }
        // A symbolic link stays; its target is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = folder_of(&path);
        fs::create_dir_all(folder).map_err(|error| cannot_write(&path, &error))?;
        let draft = tempfile::Builder::new()
            .prefix(".espalier-")
            .suffix(".partial")
            .tempfile_in(folder);
        let draft = draft.map_err(|error| cannot_write(&path, &error))?;
        Ok(Self {
            path,
            file: Draft::Temporary(draft),
        })
    }

    /// The file to write to.
    pub fn writer(&mut self) -> &mut File {
        match &mut self.file {
            Draft::Temporary(draft) => draft.as_file_mut(),
            Draft::Special(file) => file,
        }
    }

    /// Completes the file: renames it to its final name.
    pub fn finish(self) -> Result<()> {
        match self.file {
            Draft::Special(_) => Ok(()),
            Draft::Temporary(draft) => match draft.persist(&self.path) {
                Ok(_) => Ok(()),
                Err(error) => Err(cannot_write(&self.path, &error.error)),
            },
        }
    }
}

/// Rejects a file that belongs to a store: that of the URL `store`, which the command reads, or another. Also rejects
/// a file that exists, unless it is to be replaced.
pub fn check(path: &Path, existing: Existing, store: Option<&str>) -> Result<()> {
    refuse_store(path, store)?;
    if path.is_dir() {
        return Err(Failure::usage("this is a folder; name a file").in_file(path.display()));
    }
    if existing == Existing::Replace || !path.is_file() || may_replace(path)? {
        return Ok(());
    }
    Err(Failure::usage("the file exists already")
        .in_file(path.display())
        .hint("choose another name, or replace it with --force"))
}

/// Rejects a file that belongs to a store, also through a link: that of `store`, or another.
fn refuse_store(path: &Path, store: Option<&str>) -> Result<()> {
    let refused = |store: &str| {
        let message = format!("this is a place within the store {store}, and is not written to");
        Failure::usage(message)
            .in_file(path.display())
            .hint("choose a file outside the store")
    };
    if let Some(around) = espalier_drivers::enclosing_store(path) {
        return Err(refused(&around.display().to_string()));
    }
    let url = store.unwrap_or("memory:");
    match espalier_drivers::is_store_file(url, path) {
        Ok(true) => Err(refused(&crate::url_name(url))),
        _ => Ok(()),
    }
}

/// Asks the user, if standard input and standard error are terminals.
fn may_replace(path: &Path) -> Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    let name = path.display().to_string();
    write!(
        io::stderr(),
        "{} exists already. Replace it? [y/N] ",
        escaped(&name)
    )?;
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::data(format!("the file cannot be written: {error}")).in_file(path.display())
}
