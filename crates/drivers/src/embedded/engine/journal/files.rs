//! The names of the journal's files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The file with the end position of the journal.
pub(super) const HEAD: &str = "journal.head";

const SEGMENT_PREFIX: &str = "journal.";

/// The file of a segment.
pub(super) fn segment(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("{SEGMENT_PREFIX}{generation}"))
}

/// The generations of the existing segments, in order.
pub(super) fn generations(dir: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix(SEGMENT_PREFIX));
        found.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Makes the names in a directory durable.
pub(super) fn sync_names(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
