//! Converts LMDB's errors to those of a key space.

use std::fs;
use std::io;
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind};
use heed::MdbError;

use super::environment::{DATA_FILE, Shortage};
use crate::files::{self, full_message, io_error};

/// The error of an LMDB call on the files of a directory.
pub(in crate::embedded) fn engine_error(dir: &Path, error: heed::Error) -> Error {
    match error {
        heed::Error::Io(error) => {
            let act = format!(
                "the files of the engine in {} cannot be read or written",
                dir.display()
            );
            io_error(act, error)
        }
        heed::Error::Mdb(error) => mdb_error(dir, error),
        heed::Error::EnvAlreadyOpened => Error::new(
            ErrorKind::Locked,
            "this process has the directory open with other options",
        ),
        error => Error::new(ErrorKind::Engine, "the engine failed").with_source(error),
    }
}

fn mdb_error(dir: &Path, error: MdbError) -> Error {
    let (kind, message) = match error {
        MdbError::Invalid | MdbError::VersionMismatch => {
            let problem = "was not written by this engine, or is damaged";
            return corrupt(dir, problem).with_source(error);
        }
        MdbError::Corrupted | MdbError::PageNotFound | MdbError::Incompatible => {
            return corrupt(dir, "is damaged").with_source(error);
        }
        MdbError::MapFull => (
            ErrorKind::Full,
            "the address space that LMDB has reserved is full (not the disk)",
        ),
        MdbError::ReadersFull => (
            ErrorKind::Unavailable,
            "too many snapshots are open; close some",
        ),
        MdbError::BadTxn => (
            ErrorKind::Aborted,
            "the write was aborted by an earlier error",
        ),
        _ => (ErrorKind::Engine, "the engine failed"),
    };
    Error::new(kind, message).with_source(error)
}

/// The error of a full map, and why it is not larger.
pub(super) fn map_full_error(map_bytes: usize, shortage: Option<Shortage>) -> Error {
    let (reason, remedy) = match shortage {
        Some(Shortage::Snapshots) => (
            "it cannot grow while this process holds snapshots",
            "try again when long reads have ended, or give a larger map_size",
        ),
        Some(Shortage::AddressSpace) => (
            "the system does not give this process more address space",
            "raise its limit (`ulimit -v`)",
        ),
        None => (
            "one write needs more than was reserved for it",
            "give a larger map_size, or write less at once",
        ),
    };
    let message = format!(
        "the {map_bytes} bytes of address space that LMDB has reserved are full (not the disk), and {reason}; \
         nothing was committed: {remedy}"
    );
    Error::new(ErrorKind::Full, message)
}

/// The error of LMDB returning keys out of order.
pub(in crate::embedded) fn out_of_order_error(dir: &Path) -> Error {
    corrupt(dir, "is damaged: its keys are out of order")
}

fn corrupt(dir: &Path, problem: &str) -> Error {
    let message = format!("{} {problem}", dir.join(DATA_FILE).display());
    Error::new(ErrorKind::Corrupt, message)
}

/// Whether the map was too small for a change and must be grown.
pub(in crate::embedded) fn is_map_full(error: &heed::Error) -> bool {
    matches!(error, heed::Error::Mdb(MdbError::MapFull))
}

/// Whether another process has grown the file beyond this process's map.
pub(in crate::embedded) fn is_map_outgrown(error: &heed::Error) -> bool {
    matches!(error, heed::Error::Mdb(MdbError::MapResized))
}

/// The error of a commit. LMDB reports a write truncated by a full disk as a plain I/O error; a test write
/// distinguishes the two.
pub(in crate::embedded) fn commit_error(dir: &Path, error: heed::Error) -> Error {
    if matches!(&error, heed::Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory) {
        let message =
            "this process has reached its memory limit (`ulimit -v`); nothing was written";
        return Error::new(ErrorKind::Unavailable, message).with_source(error);
    }
    let cut_short = matches!(&error, heed::Error::Io(error)
        if error.raw_os_error() == Some(libc::EIO));
    if cut_short && let Err(full) = probe_space(dir) {
        return io_error(full_message(&full), full);
    }
    engine_error(dir, error)
}

fn probe_space(dir: &Path) -> io::Result<()> {
    let end = fs::metadata(dir.join(DATA_FILE))?.len();
    let probe = dir.join(format!("espalier.probe.{}", std::process::id()));
    files::probe_space(&probe, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_errors_are_mapped_to_error_kinds() {
        for (code, kind) in [
            (libc::ENOSPC, ErrorKind::Full),
            (libc::EDQUOT, ErrorKind::Full),
            (libc::EFBIG, ErrorKind::Full),
            (libc::EACCES, ErrorKind::ReadOnly),
            (libc::EROFS, ErrorKind::ReadOnly),
            (libc::EIO, ErrorKind::Engine),
        ] {
            let error = io::Error::from_raw_os_error(code);
            let error = engine_error(Path::new("store"), heed::Error::Io(error));
            assert_eq!(error.kind(), kind);
        }
    }
}
