//! The sorted paths of the columns of a row.

use std::sync::Arc;

use crate::number::{put_text, take_text};
use crate::{Path, Result};

/// Appends paths: the length of their list in bytes, then each. `list` is scratch memory.
pub(super) fn put_paths(out: &mut Vec<u8>, paths: &[Path], list: &mut Vec<u8>) {
    list.clear();
    for path in paths {
        put_text(list, path.as_str().as_bytes());
    }
    put_text(out, list);
}

/// The paths of the row before: most rows have the same ones, and share them in memory.
#[derive(Default)]
pub(super) struct PathCache {
    list: Vec<u8>,
    paths: Arc<[Path]>,
}

impl PathCache {
    /// Removes paths from the front of `bytes`.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<Arc<[Path]>> {
        let list = take_text(bytes)?;
        if self.list != list {
            let mut paths = Vec::new();
            let mut rest = list;
            while !rest.is_empty() {
                paths.push(Path::stored(take_text(&mut rest)?)?);
            }
            if !paths.is_sorted_by(|left: &Path, right| left < right) {
                return Err(crate::Error::corrupt("the paths of a row are not sorted"));
            }
            self.list.clear();
            self.list.extend_from_slice(list);
            self.paths = paths.into();
        }
        Ok(Arc::clone(&self.paths))
    }
}

/// The paths of both lists; `None` if those are the paths of `left`.
pub(super) fn union(left: &[Path], right: impl Iterator<Item = Path>) -> Option<Vec<Path>> {
    let mut all = Vec::new();
    let mut left = left.iter().peekable();
    let mut is_longer = false;
    for path in right {
        while let Some(smaller) = left.next_if(|other| **other < path) {
            all.push(smaller.clone());
        }
        is_longer |= left.next_if(|other| **other == path).is_none();
        all.push(path);
    }
    all.extend(left.cloned());
    is_longer.then_some(all)
}
