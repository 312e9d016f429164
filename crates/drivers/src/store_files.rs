//! The files of a store, and their permissions.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::foreign_files::{STORES, is_visible};
use crate::url::Url;

/// The first bytes of an SQLite file.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// The suffixes of the additional files of SQLite.
const SQLITE_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The permission bits of group and others.
const GROUP_AND_OTHERS: u32 = 0o077;

/// Maximum depth of subdirectories.
const DEPTH_MAX: usize = 16;

/// A file or directory of a store that other users can access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExposedFile {
    /// The file or directory.
    pub path: PathBuf,
    /// Its permission bits.
    pub mode: u32,
    /// The recommended permission bits.
    pub private_mode: u32,
}

/// A directory and its files, without hidden ones (such as `.git`).
pub(crate) fn of_directory(url: &Url<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    add(url.place.as_ref(), 0, &mut files);
    files
}

fn add(path: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    files.push(path.to_owned());
    if depth == DEPTH_MAX || path.is_symlink() && depth > 0 {
        return;
    }
    let mut entries: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().collect();
    entries.retain(|entry| is_visible(&entry.file_name().to_string_lossy()));
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        add(&entry.path(), depth + 1, files);
    }
}

/// An SQLite file and its additional files.
pub(crate) fn of_sqlite(url: &Url<'_>) -> Vec<PathBuf> {
    let ends = [""].into_iter().chain(SQLITE_SUFFIXES);
    let files = ends.map(|end| PathBuf::from(format!("{}{end}", url.place)));
    files.filter(|file| file.exists()).collect()
}

/// The files that other users can access.
pub(crate) fn exposed(files: Vec<PathBuf>) -> Vec<ExposedFile> {
    let looser = files.into_iter().filter_map(|path| {
        let found = fs::symlink_metadata(&path).ok()?;
        let mode = found.permissions().mode() & 0o7777;
        let is_loose = mode & GROUP_AND_OTHERS != 0 && !found.is_symlink();
        is_loose.then_some(ExposedFile {
            private_mode: mode & 0o700,
            path,
            mode,
        })
    });
    looser.collect()
}

/// The store that contains a path: its directory or its file. `None` if writing to the path harms no store.
/// Links are followed; for a path that does not exist, its future location counts.
pub fn enclosing_store(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        if let Some(file) = sqlite_of(&real) {
            return Some(file);
        }
    } else if let Some(file) = sqlite_of(path) {
        return Some(file);
    }
    // Parents only: a store itself is a directory or a file, and is not written to by its own name.
    let parents = path.ancestors().skip(usize::from(!path.is_dir()));
    let named = |parent: &Path| match parent.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => parent.to_owned(),
    };
    let target = path.canonicalize().ok();
    let target = target.as_deref().and_then(Path::parent).map(Path::to_owned);
    let real = target.or_else(|| {
        parents
            .map(named)
            .find_map(|parent| parent.canonicalize().ok())
    })?;
    let around = real.ancestors().find(|folder| is_store(folder));
    around.map(Path::to_owned)
}

/// The SQLite file that a path names directly, or through one of its additional files.
fn sqlite_of(path: &Path) -> Option<PathBuf> {
    let text = path.to_string_lossy();
    let main = SQLITE_SUFFIXES
        .iter()
        .find_map(|end| text.strip_suffix(end));
    let mut candidates = [Some(&*text), main]
        .into_iter()
        .flatten()
        .map(PathBuf::from);
    candidates.find(|file| is_sqlite(file))
}

/// Whether a path, by any link, is one of the files.
pub(crate) fn is_one_of(path: &Path, files: &[PathBuf]) -> bool {
    let identity = |path: &Path| {
        fs::metadata(path)
            .ok()
            .map(|found| (found.dev(), found.ino()))
    };
    let Some(wanted) = identity(path) else {
        return false;
    };
    files.iter().any(|file| identity(file) == Some(wanted))
}

fn is_store(folder: &Path) -> bool {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| STORES.iter().any(|(first, _)| name.starts_with(first)))
}

fn is_sqlite(file: &Path) -> bool {
    let mut start = [0; SQLITE_MAGIC.len()];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut start));
    file.is_file() && read.is_ok() && start == *SQLITE_MAGIC
}
