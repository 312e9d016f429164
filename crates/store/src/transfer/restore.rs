//! The restore of a backup file to an engine.

use std::io::{Read, Seek, SeekFrom};

use espalier_keyspace::Driver;

use super::destination::Target;
use super::digest::{Digest, Digester};
use super::file::BackupReader;
use super::rows::Rows;
use super::{ExistingRows, Phase, Progress, TransferReport};
use crate::error::{Error, Result};

/// A backup file that was read to its end and verified.
pub struct CheckedBackup<F> {
    file: F,
    version: u64,
    digest: Digest,
}

impl<F: Read + Seek> CheckedBackup<F> {
    /// Reads a backup file to its end and verifies it. The target engine is not needed yet, so that a
    /// rejected file leaves nothing there.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the place in the file.
    pub fn read(mut file: F, progress: Progress<'_>) -> Result<Self> {
        let mut rows = BackupReader::open(&mut file)?;
        let version = rows.header().version;
        let mut digester = Digester::default();
        while let Some((key, value)) = rows.next()? {
            digester.update(key, value);
            if digester.rows().is_multiple_of(65_536) {
                progress(Phase::Checking, digester.rows());
            }
        }
        let digest = digester.finish();
        if rows.digest() != Some(digest) {
            return Err(Error::Damaged {
                place: "the end of the file".to_owned(),
                problem: "its digest is not that of the rows".to_owned(),
            });
        }
        Ok(Self {
            file,
            version,
            digest,
        })
    }

    /// Copies the content of the file to `to`, and compares the two. Calling this again resumes an
    /// interrupted restore.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file was changed since it was verified; those of [`super::copy`].
    pub fn restore(
        mut self,
        to: &dyn Driver,
        existing: ExistingRows,
        progress: Progress<'_>,
    ) -> Result<TransferReport> {
        let digest = self.digest;
        let name = format!("backup {}", digest.hex());
        let mut target = Target::begin(to, &name, self.version, existing, &|| Ok(false))?;
        self.file.seek(SeekFrom::Start(0))?;
        let mut rows = BackupReader::open(&mut self.file)?;
        let (written, changed) = target.write_rows(&mut rows, progress)?;
        if written != digest {
            return Err(Error::Damaged {
                place: "the file".to_owned(),
                problem: "it was changed while it was read".to_owned(),
            });
        }
        let is_resumed = target.is_resumed;
        target.finish(&digest, progress)?;
        Ok(TransferReport {
            digest,
            changed,
            is_resumed,
        })
    }
}

/// Verifies a backup file ([`CheckedBackup::read`]) and restores it to `to`.
///
/// # Errors
/// Those of both steps.
pub fn restore(
    file: impl Read + Seek,
    to: &dyn Driver,
    existing: ExistingRows,
    progress: Progress<'_>,
) -> Result<TransferReport> {
    CheckedBackup::read(file, progress)?.restore(to, existing, progress)
}
