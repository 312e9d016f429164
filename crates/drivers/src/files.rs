//! Errors of files, for the engines that keep some.

use std::io;
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind};

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
