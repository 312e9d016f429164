//! From a backup file into an engine.

use std::io::{Read, Seek, SeekFrom};

use espalier_keyspace::Driver;

use super::digest::{Digest, Digester};
use super::file::BackupReader;
use super::pour::Target;
use super::rows::Rows;
use super::{Existing, Phase, Progress, Transferred};
use crate::error::{Error, Result};

/// A backup file that was read to its end and holds what it says.
pub struct CheckedBackup<F> {
    file: F,
    version: u64,
    digest: Digest,
}

impl<F: Read + Seek> CheckedBackup<F> {
    /// Reads a backup file to its end and checks it. Nothing is needed yet of the engine that it is to
    /// go to, so that a file that is refused leaves nothing there.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the place in the file.
    pub fn read(mut file: F, progress: Progress<'_>) -> Result<Self> {
        let mut rows = BackupReader::open(&mut file)?;
        let version = rows.header().version;
        let mut digester = Digester::default();
        while let Some((key, value)) = rows.next()? {
            digester.take(key, value);
            if digester.rows().is_multiple_of(65_536) {
                progress(Phase::Checking, digester.rows());
            }
        }
        let digest = digester.finish();
        if rows.digest() != Some(digest) {
            return Err(Error::Damaged {
                place: "the end of the file".to_owned(),
                problem: "it tells other rows than there are".to_owned(),
            });
        }
        Ok(Self {
            file,
            version,
            digest,
        })
    }

    /// Makes `to` hold what the file holds, and compares the two. An interrupted restore is gone on with
    /// by calling this again.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the file was changed since it was checked; those of [`super::copy`].
    pub fn restore(
        mut self,
        to: &dyn Driver,
        existing: Existing,
        progress: Progress<'_>,
    ) -> Result<Transferred> {
        let digest = self.digest;
        let name = format!("backup {}", digest.hex());
        let mut target = Target::begin(to, &name, self.version, existing, &|| Ok(false))?;
        self.file.seek(SeekFrom::Start(0))?;
        let mut rows = BackupReader::open(&mut self.file)?;
        let (poured, changed) = target.pour(&mut rows, progress)?;
        if poured != digest {
            return Err(Error::Damaged {
                place: "the file".to_owned(),
                problem: "it was changed while it was read".to_owned(),
            });
        }
        let is_resumed = target.is_resumed;
        target.finish(&digest, progress)?;
        Ok(Transferred {
            digest,
            changed,
            is_resumed,
        })
    }
}

/// Checks a backup file ([`CheckedBackup::read`]) and makes `to` hold what it holds.
///
/// # Errors
/// Those of both steps.
pub fn restore(
    file: impl Read + Seek,
    to: &dyn Driver,
    existing: Existing,
    progress: Progress<'_>,
) -> Result<Transferred> {
    CheckedBackup::read(file, progress)?.restore(to, existing, progress)
}
