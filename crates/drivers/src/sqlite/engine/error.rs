//! SQLite's errors as those of a key space.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use espalier_keyspace::{Error, ErrorKind};
use rusqlite::ErrorCode;

use crate::files::{full_message, io_error, private};

/// The error of an engine call.
pub(in crate::sqlite) fn engine_error(error: rusqlite::Error) -> Error {
    let (kind, message) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            ErrorKind::Unavailable,
            "another process is writing the file and does not end",
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Corrupt,
            "the file is damaged; restore it from a backup",
        ),
        Some(ErrorCode::NotADatabase) => (
            ErrorKind::WrongVersion,
            "the file is not a SQLite database, or its beginning is damaged",
        ),
        Some(ErrorCode::DiskFull) => (ErrorKind::Full, "the disk is full; nothing was written"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            ErrorKind::ReadOnly,
            "the file or its folder cannot be written",
        ),
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::Unavailable,
            "the file or its log cannot be opened (it was moved, or too many files are open)",
        ),
        Some(ErrorCode::SystemIoFailure) => {
            (ErrorKind::Engine, "the file cannot be read or written")
        }
        None if is_lacking(&error) => (
            ErrorKind::Corrupt,
            "a value is missing; restore the file from a backup",
        ),
        _ => (ErrorKind::Engine, "SQLite failed"),
    };
    Error::new(kind, message).with_source(error)
}

/// Whether a row or a column is not there, or not of its type. The tables are strict and without nulls,
/// and no key is without a value: so it is only in a damaged file.
fn is_lacking(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::QueryReturnedNoRows
    )
}

/// The error of opening a file.
pub(super) fn open_error(file: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::SystemIoFailure) => {
            let act = format!("{} cannot be opened for writing", file.display());
            match probe_space(file, 0) {
                Err(probed) => io_error(act, probed),
                Ok(()) => Error::new(ErrorKind::Engine, act).with_source(error),
            }
        }
        // The tables are not as they were made.
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

/// The error of a commit. SQLite reports a quota and a limit of the file size as plain I/O errors,
/// so that has to be told apart here, by trying to write.
pub(super) fn commit_error(file: &Path, end: u64, error: rusqlite::Error) -> Error {
    let is_io = error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
    if is_io && let Err(full) = probe_space(file, end) {
        return io_error(full_message(&full), full);
    }
    engine_error(error)
}

/// Bytes that are tried to be written.
const PROBE_BYTES: usize = 64 * 4096;

/// Tries to write beside the file, at the place where its log ends. (Not the file itself: closing
/// it again would drop the locks that this process has on it.)
fn probe_space(file: &Path, end: u64) -> io::Result<()> {
    let mut name = file.to_owned().into_os_string();
    name.push(format!("-probe.{}", std::process::id()));
    let path = PathBuf::from(name);
    let probe = private()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)?;
    let probed = probe.write_all_at(&vec![0; PROBE_BYTES], end);
    drop(probe);
    fs::remove_file(&path)?;
    probed
}
