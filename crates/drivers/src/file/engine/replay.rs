//! Reading a directory: the newest data file, then the journals since.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use espalier_keyspace::{ByteMap, Error, ErrorKind, Result, Version, packed};

use super::frame::{FILE_HEADER_BYTES, FileId, Frames, Kind, Next};
use super::names::{self, DATA, JOURNAL};
use super::record::{self, DOCUMENT, DocumentRecord, END, PART, Step};
use crate::files::io_error;
use crate::memory::VersionedMap;

/// What is known of the documents, by their names.
pub(super) type Documents = BTreeMap<String, DocumentRecord>;

/// A directory, read.
#[derive(Default)]
pub(super) struct Replayed {
    /// The rows.
    pub(super) state: VersionedMap,
    pub(super) documents: Documents,
    /// The generation of the newest journal.
    pub(super) generation: u64,
    /// Where its last whole record ends; `None` where it has to be made again.
    pub(super) length: Option<u64>,
    /// Bytes of the journals before it.
    pub(super) older_bytes: u64,
    /// Bytes of the data file.
    pub(super) data_bytes: u64,
}

/// How a file may end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// In a whole record.
    Whole,
    /// Within a record, where its process was killed as it wrote it.
    MayBeShort,
    /// In anything, where the machine was stopped: parts of what was written, and not flushed, may be there.
    MayBeTorn,
}

impl Tail {
    /// Whether the file may end where this stands.
    fn allows(self, next: Next) -> bool {
        match self {
            Self::Whole => false,
            Self::MayBeShort => next == Next::Short,
            Self::MayBeTorn => true,
        }
    }
}

/// Reads a directory whose newest journal ends so; `None` where there is nothing yet.
pub(super) fn replay(dir: &Path, tail: Tail) -> Result<Option<Replayed>> {
    let listed = |error| io_error(format!("{} cannot be read", dir.display()), error);
    let journals = names::generations(dir, JOURNAL).map_err(listed)?;
    let generations = names::generations(dir, DATA).map_err(listed)?;
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
    let length = replayed.read(&names::data(dir, first), id, Tail::Whole)?;
    replayed.data_bytes = length.unwrap_or_default();
    let last = journals.last().copied().unwrap_or_default().max(first);
    for generation in first..=last {
        let tail = match generation == last {
            true => tail,
            false => Tail::Whole,
        };
        replayed.read_journal(dir, generation, tail)?;
    }
    Ok(Some(replayed))
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() <= FILE_HEADER_BYTES)
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

    /// Applies the records of a file, and returns where the last whole one ends; `None` where the
    /// file has no header.
    fn read(&mut self, path: &Path, id: FileId, tail: Tail) -> Result<Option<u64>> {
        let Some(mut frames) = Frames::open(path, id)? else {
            return match tail {
                Tail::Whole => Err(super::frame::damaged(path, 0)),
                Tail::MayBeShort | Tail::MayBeTorn => Ok(None),
            };
        };
        let mut whole = frames.offset();
        let mut map: Option<ByteMap> = None;
        loop {
            let at = frames.offset();
            match frames.next()? {
                Next::Frame => {}
                Next::End => break,
                end if tail.allows(end) && !frames.was_flushed()? => break,
                Next::Short | Next::Bad => return Err(frames.damage()),
            }
            let applied = self.apply(frames.payload(), map.take());
            map = applied.ok_or_else(|| super::frame::damaged(path, at))?;
            if map.is_none() {
                whole = frames.offset();
            }
        }
        let torn = frames.length() - whole;
        if torn > 0 && tail == Tail::Whole {
            return Err(super::frame::damaged(path, whole));
        }
        if torn > 0 {
            let path: PathBuf = path.to_owned();
            tracing::warn!(path = %path.display(), at = whole, bytes = torn,
                "the end of the journal was not written whole, and is cut off");
        }
        Ok(Some(whole))
    }

    /// Applies a record to the map that a commit has left so far; returns that map where the commit
    /// goes on. `None` where it is no record.
    fn apply(&mut self, payload: &[u8], begun: Option<ByteMap>) -> Option<Option<ByteMap>> {
        let (&kind, mut rest) = payload.split_first()?;
        match kind {
            PART => {
                let mut map = begun.unwrap_or_else(|| self.state.map.clone());
                apply_steps(rest, &mut map)?;
                Some(Some(map))
            }
            END => {
                let version = Version(packed::take_number(&mut rest)?);
                // Where this fails, so does all of the reading.
                let mut map = begun.unwrap_or_else(|| std::mem::take(&mut self.state.map));
                apply_steps(rest, &mut map)?;
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

fn apply_steps(mut rest: &[u8], map: &mut ByteMap) -> Option<()> {
    while !rest.is_empty() {
        match record::take_step(&mut rest)? {
            Step::Put(key, value) => map.insert(key, value),
            Step::Delete(key) => drop(map.remove(key)),
            Step::DeleteRange(range) => drop(map.remove_range(&range)),
        }
    }
    Some(())
}
