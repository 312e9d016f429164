//! Recovers the journal after a restart of the machine: the end position is lost, and is determined from
//! the segments.

use std::sync::Arc;

use espalier_keyspace::{Error, ErrorKind, Result, Version};

use super::segment::{self, HEADER_BYTES, Header, Segment};
use super::view::View;
use super::{files, frame};
use crate::embedded::engine::Lmdb;
use crate::files::{Access, path_error};

/// Reads the frames of the segments that LMDB does not have yet, up to the first incomplete one. The caller
/// holds the lock.
pub(super) fn recover(base: &Arc<Lmdb>) -> Result<View> {
    let dir = &base.dir;
    let listed = path_error(dir, "read");
    let merged = base.newest()?;
    let mut view: Option<View> = None;
    let mut before: Option<Segment> = None;
    for generation in files::generations(dir).map_err(listed)? {
        let Some(next) = Segment::open(dir, generation)? else {
            continue;
        };
        if next.header.base < merged {
            before = Some(next);
        } else if let Some(view) = &mut view {
            if !continues(view, &next.header) {
                if base.access == Access::Write {
                    remove(&next);
                }
                continue;
            }
            view.continue_with(next);
            read(view, base.access)?;
        } else if next.header.base == merged {
            let mut first = View::at(next);
            read(&mut first, base.access)?;
            view = Some(first);
        } else {
            return Err(missing_data_file_error(&next));
        }
    }
    match view {
        Some(view) => Ok(view),
        None => create_next(base, merged, before),
    }
}

/// Whether a segment continues the view.
fn continues(view: &View, next: &Header) -> bool {
    let header = &view.segment.header;
    view.frozen.is_none()
        && next.generation == header.generation + 1
        && next.base == header.base + 1
        && next.previous_end == view.end
}

/// Reads the newest segment up to its last valid frame, and truncates it there.
fn read(view: &mut View, access: Access) -> Result<()> {
    let segment = &view.segment;
    let take = &mut |payload: &[u8]| frame::apply(payload, &mut view.rows);
    let read = segment.read_valid(HEADER_BYTES, None, take)?;
    if read.is_damaged {
        return Err(segment::damaged(&segment.path, read.end));
    }
    if read.has_trailing_bytes {
        tracing::warn!(path = %segment.path.display(), at = read.end,
            "the incomplete end of the journal is truncated");
    }
    if access == Access::Write {
        segment.truncate(read.end)?;
    }
    view.end = read.end;
    view.version.0 += read.frames;
    Ok(())
}

/// Creates the first segment, or the one after a commit that went to LMDB directly.
fn create_next(base: &Lmdb, merged: u64, before: Option<Segment>) -> Result<View> {
    let (generation, version) = match before {
        None => (1, Version(merged)),
        Some(before) => {
            let read = before.read_valid(HEADER_BYTES, None, &mut |_| Some(()))?;
            let version = before.header.version.0 + read.frames + 1;
            (before.header.generation + 1, Version(version))
        }
    };
    let header = Header {
        generation,
        base: merged,
        version,
        previous_end: 0,
        salt: super::shared_journal::salt(generation),
    };
    Ok(View::at(match base.access {
        Access::Write => Segment::create(&base.dir, header)?,
        Access::Read => Segment::without_file(&base.dir, header)?,
    }))
}

fn remove(segment: &Segment) {
    if let Err(error) = std::fs::remove_file(&segment.path) {
        tracing::warn!(%error, path = %segment.path.display(), "a segment cannot be removed");
    }
}

fn missing_data_file_error(segment: &Segment) -> Error {
    let message = format!(
        "{} continues a data.mdb that is not there; restore a backup into another directory \
         (nothing was changed)",
        segment.path.display()
    );
    Error::new(ErrorKind::Corrupt, message)
}
