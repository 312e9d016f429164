//! Private files and directories of the local engines, and file errors.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use espalier_keyspace::{Error, ErrorKind, Result};
use rustix::fs::StatVfsMountFlags;

// Modes are set here, because the umask is the program's: docs/decisions/0057.
/// The mode of files: configurations contain keys and password hashes.
const FILE_MODE: u32 = 0o600;

/// The mode of directories.
const DIRECTORY_MODE: u32 = 0o700;

/// Options that create a file readable and writable by its owner only, whatever the umask.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Creates an empty private file, replacing an existing one.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    // An existing file would keep its mode; it may be left over from a crash of an older program.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    private().write(true).create(true).truncate(true).open(path)
}

/// Creates a private directory and its missing parents.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
}

/// The error of a file operation, with a description of the operation.
pub(crate) fn io_error(act: impl Into<String>, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::WriteZero => ErrorKind::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        _ => ErrorKind::Engine,
    };
    Error::new(kind, act.into()).with_source(error)
}

/// Makes the error of a file operation: `path` cannot be `done`, such as read or written.
pub(crate) fn path_error<'p>(
    path: &'p Path,
    done: &'static str,
) -> impl Fn(io::Error) -> Error + Copy + use<'p> {
    move |error| io_error(format!("{} cannot be {done}", path.display()), error)
}

/// Creates the directory of a store if it does not exist, and resolves links.
pub(crate) fn open_directory(dir: &Path) -> Result<PathBuf> {
    let failed = |act: &str| {
        let act = format!("the directory {} cannot be {act}", dir.display());
        move |error| io_error(act, error)
    };
    if fs::metadata(dir).is_ok_and(|place| !place.is_dir()) {
        let message = format!("{} is not a directory; the engine needs one", dir.display());
        return Err(Error::new(ErrorKind::Engine, message));
    }
    create_directories(dir).map_err(failed("made"))?;
    dir.canonicalize().map_err(failed("opened"))
}

/// The numbers of the files of a directory whose names are a prefix and a number, in order.
pub(crate) fn numbered_files(dir: &Path, prefix: &str) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        found.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Bytes that a probe writes.
const PROBE_BYTES: usize = 64 * 4096;

/// Tries to write to a probe file at the offset where another file ends: engines report a full disk, an
/// exceeded quota or an exceeded file size as a plain I/O error, and this tells them apart.
pub(crate) fn probe_space(probe: &Path, end: u64) -> io::Result<()> {
    let mut options = private();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .open(probe)?;
    let probed = file.write_all_at(&vec![0; PROBE_BYTES], end);
    drop(file);
    fs::remove_file(probe)?;
    probed
}

/// The error of opening a store; adds a remedy if its directory is not writable.
pub(crate) fn open_error(place: &Path, error: Error) -> Error {
    if error.kind() != ErrorKind::ReadOnly || !place.exists() {
        return error;
    }
    let message = format!(
        "{} is not writable; reading a store also needs write access, for its locks and for recovery after a \
         crash. Make it writable, or open a copy in a writable directory",
        place.display()
    );
    Error::new(ErrorKind::ReadOnly, message).with_source(error)
}

/// Whether a store can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It can be changed.
    Write,
    /// Its file system is mounted read-only: the store is read without locks, and every commit is rejected.
    Read,
}

impl Access {
    /// The access to an existing store. A store that only this user may not write is not [`Access::Read`]:
    /// other users may write it at any time, and reading without locks would not notice that.
    pub(crate) fn to(place: &Path) -> Self {
        let mounted = rustix::fs::statvfs(place);
        match mounted.is_ok_and(|mounted| mounted.f_flag.contains(StatVfsMountFlags::RDONLY)) {
            true => Self::Read,
            false => Self::Write,
        }
    }
}

/// The error of changing a store on a read-only file system.
pub(crate) fn read_only_error(place: &Path) -> Error {
    let message = format!(
        "{} is on a read-only file system and cannot be changed; nothing was committed",
        place.display()
    );
    Error::new(ErrorKind::ReadOnly, message)
}

/// The reason why a write did not fit.
pub(crate) fn full_message(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::QuotaExceeded => {
            "the disk quota of this user is used up; nothing was written"
        }
        io::ErrorKind::FileTooLarge => {
            "the file would exceed the size limit of this process or of the file system (`ulimit -f`); \
             nothing was written"
        }
        _ => "the disk is full; nothing was written",
    }
}
