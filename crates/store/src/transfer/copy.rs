//! The copy of one engine to another.

use espalier_keyspace::{Driver, retry_too_old};

use super::destination::Target;
use super::rows::Scanned;
use super::{ExistingRows, Progress, TransferReport, reject_unfinished};
use crate::error::{Error, Result};

/// How often a copy continues from a new snapshot if its own became too old.
const TRIES_MAX: usize = 100;

/// Copies the content of one snapshot of `from` to `to`, and compares the two. `name` identifies `from` in
/// the target's marker until then: the URL without its password.
///
/// The source may be written to in the meantime. Calling this again resumes an interrupted copy; if the
/// source has changed since, the existing rows are compared with it.
///
/// # Errors
/// [`Error::NotEmpty`], [`Error::Unfinished`] if the target or the source has the marker of another
/// unfinished transfer, [`Error::SameEngine`], [`Error::Differs`], [`Error::Interfered`].
pub fn copy(
    from: &dyn Driver,
    name: &str,
    to: &dyn Driver,
    existing: ExistingRows,
    progress: Progress<'_>,
) -> Result<TransferReport> {
    let (mut changed, mut is_resumed, mut is_first) = (0, false, true);
    retry_too_old(TRIES_MAX, || {
        let snapshot = from.snapshot()?;
        reject_unfinished(&*snapshot)?;
        let is_source = || {
            let snapshot = from.snapshot()?;
            Ok(matches!(
                reject_unfinished(&*snapshot),
                Err(Error::Unfinished { .. })
            ))
        };
        let version = snapshot.version().0;
        let mut target = Target::begin(to, name, version, existing, &is_source)?;
        is_resumed |= std::mem::take(&mut is_first) && target.is_resumed;
        let (digest, written) = target.write_rows(&mut Scanned::all(&*snapshot)?, progress)?;
        changed += written;
        target.finish(&digest, progress)?;
        Ok(TransferReport {
            digest,
            changed,
            is_resumed,
        })
    })
}
