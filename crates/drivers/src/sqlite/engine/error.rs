//! Converts SQLite's errors to errors of the key space.

use std::io;
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind};
use rusqlite::ErrorCode;

use crate::files::{self, full_message, io_error};

/// Converts the error of a call to SQLite.
pub(in crate::sqlite) fn engine_error(error: rusqlite::Error) -> Error {
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            ErrorKind::Unavailable,
            "another process has locked the file for too long",
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Corrupt,
            "the file is damaged; restore it from a backup",
        ),
        Some(ErrorCode::NotADatabase) => (
            ErrorKind::WrongVersion,
            "the file is not a SQLite database, or its header is damaged",
        ),
        Some(ErrorCode::DiskFull) => (ErrorKind::Full, "the disk is full; nothing was written"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            ErrorKind::ReadOnly,
            "the file or its folder is not writable",
        ),
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::Unavailable,
            "the file or its log cannot be opened (was it moved, or are too many files open?)",
        ),
        Some(ErrorCode::SystemIoFailure) => {
            (ErrorKind::Engine, "the file cannot be read or written")
        }
        None if is_value_missing(&error) => (
            ErrorKind::Corrupt,
            "a value is missing; restore the file from a backup",
        ),
        _ => (ErrorKind::Engine, "SQLite failed"),
    };
    Error::new(kind, message).with_source(error)
}

/// Returns whether a row or column is missing or has the wrong type. The tables are `STRICT`, have no nulls,
/// and every key has a value, so this happens only in a damaged file.
fn is_value_missing(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::QueryReturnedNoRows
    )
}

/// Converts an error of opening a file.
pub(super) fn open_error(file: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure) => {
            let act = format!("{} cannot be opened for writing", file.display());
            match probe_space(file, 0) {
                Err(probed) => io_error(act, probed),
                Ok(()) => Error::new(ErrorKind::Engine, act).with_source(error),
            }
        }
        // A table or column is missing.
        Some(ErrorCode::Unknown) => {
            let message = format!("{} lacks tables; restore it from a backup", file.display());
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        }
        _ => {
            let error = engine_error(error);
            let message = format!("{} cannot be opened", file.display());
            Error::new(error.kind(), message).with_source(error)
        }
    }
}

/// Converts an error of a commit. SQLite reports an exceeded disk quota or file size limit as a plain I/O
/// error. To recognize them, this writes a probe file.
pub(super) fn commit_error(file: &Path, end: u64, error: rusqlite::Error) -> Error {
    let is_io = error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
    if is_io && let Err(full) = probe_space(file, end) {
        return io_error(full_message(&full), full);
    }
    engine_error(error)
}

/// Probes the space for the log, which ends at `end`. (It does not open the file itself: closing it would drop
/// the locks that this process holds on it.)
fn probe_space(file: &Path, end: u64) -> io::Result<()> {
    let mut name = file.to_owned().into_os_string();
    name.push(format!("-probe.{}", std::process::id()));
    files::probe_space(name.as_ref(), end)
}
