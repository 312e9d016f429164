//! From a backup file into an engine.

use std::io::{Read, Seek, SeekFrom};

use espalier_keyspace::Driver;

use super::digest::Digester;
use super::file::BackupReader;
use super::pour::Target;
use super::rows::Rows;
use super::{Existing, Phase, Progress, Transferred};
use crate::error::{Error, Result};

/// Makes `to` hold what a backup file holds, and compares the two. The file is read to its end and
/// checked before anything is written. An interrupted restore is gone on with by calling this again.
///
/// # Errors
/// [`Error::Damaged`] with the place in the file; those of [`super::copy`].
pub fn restore(
    mut file: impl Read + Seek,
    to: &dyn Driver,
    existing: Existing,
    progress: Progress<'_>,
) -> Result<Transferred> {
    let mut rows = BackupReader::open(&mut file)?;
    let version = rows.header().version;
    let mut digester = Digester::default();
    while let Some((key, value)) = rows.next()? {
        digester.take(key, value);
        if digester.rows().is_multiple_of(65_536) {
            progress(Phase::Checking, digester.rows());
        }
    }
    let digest = rows.digest();
    if digest != Some(digester.finish()) {
        return Err(Error::Damaged {
            place: "the end of the file".to_owned(),
            problem: "it tells other rows than there are".to_owned(),
        });
    }
    let digest = digester.finish();
    let name = format!("backup {}", digest.hex());
    let mut target = Target::begin(to, &name, version, existing, &|| Ok(false))?;
    file.seek(SeekFrom::Start(0))?;
    let mut rows = BackupReader::open(&mut file)?;
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
