//! The names of the journal's files.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::numbered_files;

/// The file with the end position of the journal.
pub(super) const HEAD: &str = "journal.head";

const SEGMENT_PREFIX: &str = "journal.";

/// The file of a segment.
pub(super) fn segment(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("{SEGMENT_PREFIX}{generation}"))
}

/// Whether a directory has a journal.
pub(in crate::embedded) fn has_journal(dir: &Path) -> bool {
    dir.join(HEAD).exists()
}

/// The generations of the existing segments, in order.
pub(super) fn generations(dir: &Path) -> io::Result<Vec<u64>> {
    numbered_files(dir, SEGMENT_PREFIX)
}
