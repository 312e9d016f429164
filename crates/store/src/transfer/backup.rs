//! The backup of an engine to a file.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};

use espalier_keyspace::{Driver, retry_too_old};

use super::digest::Digest;
use super::file::{BackupHeader, BackupWriter};
use super::rows::{Rows, Scanned};
use super::{Phase, Progress, reject_unfinished};
use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// How often a backup starts again if its snapshot became too old.
const TRIES_MAX: usize = 5;

/// The result of a complete backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// The digest of its rows.
    pub digest: Digest,
    /// The version of the snapshot.
    pub version: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// Writes the content of one snapshot of `from` to an empty file, and syncs it to disk. The source may be
/// written to in the meantime.
pub fn backup(
    from: &dyn Driver,
    file: &mut File,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<BackupReport> {
    retry_too_old(TRIES_MAX, || {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        write(from, file, now, progress).map_err(|error| match error {
            // This process uses no other file here.
            Error::Read(error) => Error::Write(error),
            error => error,
        })
    })
}

fn write(
    from: &dyn Driver,
    file: &mut File,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<BackupReport> {
    let snapshot = from.snapshot()?;
    reject_unfinished(&*snapshot)?;
    let version = snapshot.version().0;
    let header = BackupHeader::new(from.name(), version, now);
    let mut writer = BackupWriter::begin(BufWriter::new(&mut *file), &header)?;
    let mut rows = Scanned::all(&*snapshot)?;
    let mut count = 0u64;
    while let Some((key, value)) = rows.next()? {
        writer.row(key, value)?;
        count += 1;
        if count.is_multiple_of(1024) {
            progress(Phase::Copying, count);
        }
    }
    let (digest, file_bytes) = writer.finish()?;
    file.flush()?;
    file.sync_all()?;
    Ok(BackupReport {
        digest,
        version,
        file_bytes,
    })
}
