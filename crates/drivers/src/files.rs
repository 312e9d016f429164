//! Private files and directories of the local engines, and file errors.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind};
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
