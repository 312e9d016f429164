//! Errors of files, for the engines that keep some.

use std::io;
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind};
use rustix::fs::StatVfsMountFlags;

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
