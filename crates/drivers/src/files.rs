//! Files of the engines that keep some: made for their owner alone, and their errors.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind};
use rustix::fs::StatVfsMountFlags;

/// The mode of files: configurations have keys and hashes of passwords in them.
const FILE_MODE: u32 = 0o600;

/// The mode of directories.
const DIRECTORY_MODE: u32 = 0o700;

/// Options that make a file which only its owner can read and write, whatever the umask.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE);
    options
}

/// Makes an empty file for its owner alone, in the place of what is there.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    // One that is there keeps its mode, and it may be what a crash left of an older program.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    private().write(true).create(true).truncate(true).open(path)
}

/// Makes a directory, and those around it, for their owner alone, where they do not exist.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
}

/// The error of a file operation, with what was tried.
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

/// The error of opening a store, with what to do where its place cannot be written.
pub(crate) fn open_error(place: &Path, error: Error) -> Error {
    if error.kind() != ErrorKind::ReadOnly || !place.exists() {
        return error;
    }
    let message = format!(
        "{} cannot be written, which a store needs to be read too: its locks and what a crash left behind. \
         Make it writable, or copy it to where it can be written and open that copy",
        place.display()
    );
    Error::new(ErrorKind::ReadOnly, message).with_source(error)
}

/// Whether a store can be changed where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It can.
    Write,
    /// Its file system is mounted read-only: it is read without locks, and every commit is refused.
    Read,
}

impl Access {
    /// The access to a place that exists. A place that only this user may not write is not [`Access::Read`]:
    /// others may write it at any time, and without locks nobody would notice.
    pub(crate) fn to(place: &Path) -> Self {
        let mounted = rustix::fs::statvfs(place);
        match mounted.is_ok_and(|mounted| mounted.f_flag.contains(StatVfsMountFlags::RDONLY)) {
            true => Self::Read,
            false => Self::Write,
        }
    }
}

/// The error of a change of a store that can only be read.
pub(crate) fn only_read(place: &Path) -> Error {
    let message = format!(
        "{} lies on a read-only file system: it can be read, not changed; nothing was committed",
        place.display()
    );
    Error::new(ErrorKind::ReadOnly, message)
}

/// Why a write did not fit, in words.
pub(crate) fn full_message(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::QuotaExceeded => {
            "the disk quota of this user is used up; nothing was written"
        }
        io::ErrorKind::FileTooLarge => {
            "the file would be longer than this process or the file system allows (`ulimit -f`); \
             nothing was written"
        }
        _ => "the disk is full; nothing was written",
    }
}
