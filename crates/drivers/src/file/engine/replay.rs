//! Reads a directory: the newest data file, then the journals since.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use espalier_keyspace::{ByteMap, Error, ErrorKind, Result, Version, compact_encoding};

use super::frame::{FILE_HEADER_BYTES, FileId, Frames, Kind, NextFrame};
use super::names::{self, DATA, JOURNAL};
use super::record::{self, DOCUMENT, DocumentRecord, END, PART, RecordedChange};
use crate::files::{numbered_files, path_error};
use crate::memory::VersionedMap;

/// The records of the documents, by name.
pub(super) type Documents = BTreeMap<String, DocumentRecord>;

/// The content of a directory.
#[derive(Default)]
pub(super) struct Replayed {
    /// The rows.
    pub(super) state: VersionedMap,
    pub(super) documents: Documents,
    /// The generation of the newest journal.
    pub(super) generation: u64,
    /// The end of its last complete record; `None` if it must be created again.
    pub(super) length: Option<u64>,
    /// Bytes of older journals.
    pub(super) older_bytes: u64,
    /// Size of the data file.
    pub(super) data_bytes: u64,
}

/// How a file may end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// With a complete record.
    Complete,
    /// Within a record, if its process was killed during the write.
    MayBeTruncated,
    /// With any bytes, if the machine crashed: parts of unflushed writes may be missing.
    MayBeTorn,
}

impl Tail {
    /// Whether the file may end with `next`.
    fn allows(self, next: NextFrame) -> bool {
        match self {
            Self::Complete => false,
            Self::MayBeTruncated => next == NextFrame::Truncated,
            Self::MayBeTorn => true,
        }
    }
}

/// Reads a directory whose newest journal may end as in `tail`; `None` if it is empty.
pub(super) fn replay(dir: &Path, tail: Tail) -> Result<Option<Replayed>> {
    let listed = path_error(dir, "read");
    let journals = numbered_files(dir, JOURNAL).map_err(listed)?;
    let generations = numbered_files(dir, DATA).map_err(listed)?;
    let Some(&first) = generations.last() else {
        let is_new = |number: &u64| is_empty(&names::journal(dir, *number));
        return match journals.iter().all(is_new) {
            true => Ok(None),
            false => Err(missing(&names::data(
                dir,
                journals.last().copied().unwrap_or(1),
            ))),
        };
    };
    let mut replayed = Replayed {
        generation: first,
        ..Replayed::default()
    };
    let id = FileId {
        kind: Kind::Data,
        generation: first,
    };
    let length = replayed.read(&names::data(dir, first), id, Tail::Complete)?;
    replayed.data_bytes = length.unwrap_or_default();
    // A journal without a header could not be created, for instance on a full disk: commits went to the one before.
    let has_header = |number: &&u64| has_header(&names::journal(dir, **number));
    let last = journals.iter().rev().find(has_header).copied();
    let last = last.unwrap_or_default().max(first);
    for generation in first..=last {
        let tail = match generation == last {
            true => tail,
            false => Tail::Complete,
        };
        replayed.read_journal(dir, generation, tail)?;
    }
    Ok(Some(replayed))
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() <= FILE_HEADER_BYTES)
}

fn has_header(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() >= FILE_HEADER_BYTES)
}

fn missing(path: &Path) -> Error {
    let message = format!(
        "{} is missing; restore the directory from a backup (nothing was changed)",
        path.display()
    );
    Error::new(ErrorKind::Corrupt, message)
}

impl Replayed {
    fn read_journal(&mut self, dir: &Path, generation: u64, tail: Tail) -> Result<()> {
        let path = names::journal(dir, generation);
        if !path.exists() {
            return Err(missing(&path));
        }
        let id = FileId {
            kind: Kind::Journal,
            generation,
        };
        self.older_bytes += self.length.unwrap_or_default();
        self.length = self.read(&path, id, tail)?;
        self.generation = generation;
        Ok(())
    }

    /// Applies the records of a file, and returns the end of the last complete one; `None` if the file has
    /// no header.
    fn read(&mut self, path: &Path, id: FileId, tail: Tail) -> Result<Option<u64>> {
        let Some(mut frames) = Frames::open(path, id)? else {
            return match tail {
                Tail::Complete => Err(super::frame::damaged(path, 0)),
                Tail::MayBeTruncated | Tail::MayBeTorn => Ok(None),
            };
        };
        let mut complete = frames.offset();
        let mut map: Option<ByteMap> = None;
        loop {
            let at = frames.offset();
            match frames.next()? {
                NextFrame::Frame => {}
                NextFrame::End => break,
                end if tail.allows(end) && !frames.was_flushed()? => break,
                NextFrame::Truncated | NextFrame::Invalid => return Err(frames.damage()),
            }
            let applied = self.apply(frames.payload(), map.take());
            map = applied.ok_or_else(|| super::frame::damaged(path, at))?;
            if map.is_none() {
                complete = frames.offset();
            }
        }
        let incomplete = frames.length() - complete;
        if incomplete > 0 && tail == Tail::Complete {
            return Err(super::frame::damaged(path, complete));
        }
        if incomplete > 0 {
            let path: PathBuf = path.to_owned();
            tracing::warn!(path = %path.display(), at = complete, bytes = incomplete,
                "the incomplete end of the journal is truncated");
        }
        Ok(Some(complete))
    }

    /// Applies a record to the map of an unfinished commit; returns that map if the commit continues.
    /// `None` if the record is invalid.
    fn apply(&mut self, payload: &[u8], begun: Option<ByteMap>) -> Option<Option<ByteMap>> {
        let (&kind, mut rest) = payload.split_first()?;
        match kind {
            PART => {
                let mut map = begun.unwrap_or_else(|| self.state.map.clone());
                apply_changes(rest, &mut map)?;
                Some(Some(map))
            }
            END => {
                let version = Version(compact_encoding::take_number(&mut rest)?);
                // If this fails, reading the directory fails.
                let mut map = begun.unwrap_or_else(|| std::mem::take(&mut self.state.map));
                apply_changes(rest, &mut map)?;
                self.state = VersionedMap { version, map };
                Some(None)
            }
            DOCUMENT => {
                let (name, document) = record::take_document(rest)?;
                match document.digests.is_empty() {
                    true => self.documents.remove(&name),
                    false => self.documents.insert(name, document),
                };
                Some(None)
            }
            _ => None,
        }
    }
}

fn apply_changes(mut rest: &[u8], map: &mut ByteMap) -> Option<()> {
    while !rest.is_empty() {
        match record::take_change(&mut rest)? {
            RecordedChange::Put(key, value) => map.insert(key, value),
            RecordedChange::Delete(key) => drop(map.remove(key)),
            RecordedChange::DeleteRange(range) => drop(map.remove_range(&range)),
        }
    }
    Some(())
}
