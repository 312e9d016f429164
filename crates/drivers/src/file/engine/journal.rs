//! The journal: the commits since the data file was written.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use espalier_keyspace::{Error, ErrorKind, KeyRange, Result, Version, compact_encoding};

use super::frame::{FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FileId, Kind};
use super::names;
use super::record::{self, DocumentRecord, END, PART};
use crate::durability::Durability;
use crate::files::{io_error, path_error, private, read_only_error, sync_directory};
use crate::group_commit::Abort;
use crate::memory::WriteHook;

/// Bytes of a commit that are buffered before they are written: 1 MiB. Values are not split.
const PART_BYTES: usize = 1 << 20;

/// Whether records can be appended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JournalState {
    Writable,
    /// The bytes after `length` could not be truncated.
    NeedsTruncation,
    /// Its file system is read-only.
    ReadOnly,
}

/// An open journal.
pub(in crate::file) struct Journal {
    path: PathBuf,
    file: File,
    id: FileId,
    /// The end of the last complete record.
    length: u64,
    /// How much of it is flushed.
    synced: u64,
    state: JournalState,
}

fn id_of(generation: u64) -> FileId {
    FileId {
        kind: Kind::Journal,
        generation,
    }
}

impl Journal {
    /// Creates the journal of a generation, empty and durable.
    pub(super) fn create(dir: &Path, generation: u64) -> Result<Self> {
        let path = names::journal(dir, generation);
        let id = id_of(generation);
        let made = || -> io::Result<File> {
            let file = private()
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path)?;
            file.write_all_at(&id.header(), 0)?;
            file.sync_all()?;
            sync_directory(dir)?;
            Ok(file)
        };
        let file = made().map_err(path_error(&path, "written"))?;
        Ok(Self::of(path, file, generation, FILE_HEADER_BYTES))
    }

    /// Opens a journal whose first `length` bytes are valid; the rest is truncated.
    pub(super) fn resume(dir: &Path, generation: u64, length: u64) -> Result<Self> {
        let path = names::journal(dir, generation);
        let opened = || -> io::Result<File> {
            let file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(length)?;
            file.sync_all()?;
            Ok(file)
        };
        let file = opened().map_err(path_error(&path, "written"))?;
        Ok(Self::of(path, file, generation, length))
    }

    /// Opens a journal read-only, with its number of valid bytes, if it has a header.
    pub(super) fn open_read_only(dir: &Path, generation: u64, length: Option<u64>) -> Result<Self> {
        let path = names::journal(dir, generation);
        let file = File::open(&path).map_err(path_error(&path, "read"))?;
        let journal = Self::of(path, file, generation, length.unwrap_or(FILE_HEADER_BYTES));
        Ok(Self {
            state: JournalState::ReadOnly,
            ..journal
        })
    }

    /// A journal whose first `length` bytes are valid and flushed.
    fn of(path: PathBuf, file: File, generation: u64, length: u64) -> Self {
        Self {
            path,
            file,
            id: id_of(generation),
            length,
            synced: length,
            state: JournalState::Writable,
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.id.generation
    }

    /// Bytes of the header and complete records.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether it has no records.
    pub(super) fn is_empty(&self) -> bool {
        self.length == FILE_HEADER_BYTES
    }

    /// Makes every record durable, after truncating invalid bytes.
    pub(super) fn sync(&mut self) -> Result<()> {
        if self.state == JournalState::ReadOnly {
            return Ok(());
        }
        self.repair()?;
        if self.synced < self.length {
            let synced = self.file.sync_data();
            synced.map_err(path_error(&self.path, "flushed"))?;
            self.synced = self.length;
        }
        Ok(())
    }

    /// Begins a commit. Dropping it rolls back.
    pub(in crate::file) fn begin(&mut self) -> Result<Pending<'_>> {
        self.repair()?;
        let end = self.length;
        Ok(Pending {
            journal: self,
            payload: Vec::new(),
            end,
            failed: false,
        })
    }

    /// Truncates invalid bytes that could not be truncated before.
    fn repair(&mut self) -> Result<()> {
        match self.state {
            JournalState::Writable => return Ok(()),
            JournalState::ReadOnly => return Err(read_only_error(&self.path)),
            JournalState::NeedsTruncation => {}
        }
        let truncated = self.file.set_len(self.length);
        truncated
            .and_then(|()| self.file.sync_data())
            .map_err(|error| self.write_error(error))?;
        self.state = JournalState::Writable;
        Ok(())
    }

    /// Appends the record of a document, durably.
    pub(super) fn record_document(&mut self, name: &str, record: &DocumentRecord) -> Result<()> {
        self.repair()?;
        let mut bytes = Vec::new();
        let payload = record::document(name, record);
        self.id
            .put_frame(&mut bytes, self.length, self.synced, &payload);
        let written = self.file.write_all_at(&bytes, self.length);
        if let Err(error) = written {
            self.truncate();
            return Err(self.write_error(error));
        }
        self.length += bytes.len() as u64;
        self.sync()
    }

    /// Truncates the file after the last complete record.
    fn truncate(&mut self) {
        if let Err(error) = self.file.set_len(self.length) {
            tracing::error!(%error, path = %self.path.display(), "the journal cannot be truncated");
            self.state = JournalState::NeedsTruncation;
        }
    }

    fn write_error(&self, error: io::Error) -> Error {
        let message = format!(
            "{} cannot be written; nothing was committed",
            self.path.display()
        );
        io_error(message, error)
    }
}

/// A commit in progress. Full parts are written to the file immediately.
pub(in crate::file) struct Pending<'j> {
    journal: &'j mut Journal,
    payload: Vec<u8>,
    /// The offset of the next frame.
    end: u64,
    failed: bool,
}

impl WriteHook for Pending<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        record::put_put(self.part(), key, value);
        self.write_when_full()
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        record::put_delete(self.part(), key);
        self.write_when_full()
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        record::put_delete_range(self.part(), range);
        self.write_when_full()
    }
}

impl Pending<'_> {
    fn part(&mut self) -> &mut Vec<u8> {
        if self.payload.is_empty() {
            self.payload.push(PART);
        }
        &mut self.payload
    }

    fn write_when_full(&mut self) -> Result<()> {
        if self.payload.len() < PART_BYTES {
            return Ok(());
        }
        let payload = std::mem::take(&mut self.payload);
        let written = self.write(&payload);
        written.map_err(|error| self.journal.write_error(error))
    }

    fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(FRAME_HEADER_BYTES + payload.len());
        let journal = &self.journal;
        let id = journal.id;
        id.put_frame(&mut bytes, self.end, journal.synced, payload);
        let written = journal.file.write_all_at(&bytes, self.end);
        match &written {
            Ok(()) => self.end += bytes.len() as u64,
            // It may be written partially.
            Err(_) => self.failed = true,
        }
        written
    }

    /// Completes the commit with the given durability.
    pub(in crate::file) fn commit(
        mut self,
        version: Version,
        durability: Durability,
    ) -> std::result::Result<(), Abort<Error>> {
        if self.failed {
            let message = "the write was aborted by an earlier error";
            return Err(Abort::Refused(Error::new(ErrorKind::Aborted, message)));
        }
        let mut payload = vec![END];
        compact_encoding::put_number(&mut payload, version.0);
        payload.extend_from_slice(self.payload.get(1..).unwrap_or_default());
        if let Err(error) = self.write(&payload) {
            return Err(Abort::Failed(self.journal.write_error(error)));
        }
        if durability == Durability::Durable {
            self.sync()?;
        }
        self.journal.length = self.end;
        Ok(())
    }

    fn sync(&mut self) -> std::result::Result<(), Abort<Error>> {
        let Err(error) = self.journal.file.sync_data() else {
            self.journal.synced = self.end;
            return Ok(());
        };
        let path = self.journal.path.display();
        let failure = io_error(format!("{path} cannot be flushed"), error);
        // The unflushed commit is truncated; until the truncation is durable, the outcome is unknown.
        self.journal.truncate();
        let is_truncated =
            self.journal.state == JournalState::Writable && self.journal.file.sync_data().is_ok();
        self.end = self.journal.length;
        if is_truncated {
            return Err(Abort::Failed(failure));
        }
        self.journal.state = JournalState::NeedsTruncation;
        Err(Abort::Unknown(failure))
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.end > self.journal.length || self.failed {
            self.journal.truncate();
        }
    }
}
