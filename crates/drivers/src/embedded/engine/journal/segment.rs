//! A segment of the journal: a file with a header and frames.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use espalier_keyspace::{Error, ErrorKind, Result, Version};
use xxhash_rust::xxh3::xxh3_64;

use super::files;
use super::frame::{self, FRAME_HEADER_BYTES, FramePosition};
use crate::files::{io_error, path_error, private, sync_directory};

/// Bytes before the first frame.
pub(super) const HEADER_BYTES: u64 = 64;

const MAGIC: [u8; 8] = *b"espjrnl1";

/// Bytes that are preallocated at once, so that a commit does not change the file size: 1 MiB.
const ALLOCATED_BYTES: u64 = 1 << 20;

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// One more than that of the previous segment.
    pub(super) generation: u64,
    /// The LMDB transaction that it follows: the next transaction merges it.
    pub(super) base: u64,
    /// The version before its first frame.
    pub(super) version: Version,
    /// The number of valid bytes of the previous segment; 0 if that is merged.
    pub(super) previous_end: u64,
    /// The seed of its frame checksums.
    pub(super) salt: u64,
}

impl Header {
    fn encode(&self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        let numbers = [
            self.generation,
            self.base,
            self.version.0,
            self.previous_end,
            self.salt,
        ];
        for (number, slot) in numbers.iter().zip(bytes[8..48].chunks_exact_mut(8)) {
            slot.copy_from_slice(&number.to_le_bytes());
        }
        let sum = xxh3_64(&bytes[..56]).to_le_bytes();
        bytes[56..].copy_from_slice(&sum);
        bytes
    }

    fn decode(bytes: &[u8; HEADER_BYTES as usize]) -> Option<Self> {
        let (numbers, _) = bytes[8..].as_chunks::<8>();
        let number = |at: usize| u64::from_le_bytes(numbers[at]);
        let is_valid = bytes[..8] == MAGIC && xxh3_64(&bytes[..56]) == number(6);
        is_valid.then(|| Self {
            generation: number(0),
            base: number(1),
            version: Version(number(2)),
            previous_end: number(3),
            salt: number(4),
        })
    }
}

/// The file of a segment.
pub(super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) header: Header,
    file: File,
    /// Bytes that are certainly on disk.
    synced: AtomicU64,
    /// Bytes allocated on disk, written or not.
    allocated: AtomicU64,
    /// The file system does not support preallocation.
    cannot_preallocate: AtomicBool,
}

impl Segment {
    /// Creates a segment without frames, replacing one of the same generation. Durable on return.
    pub(super) fn create(dir: &Path, header: Header) -> Result<Self> {
        let path = files::segment(dir, header.generation);
        let failed = path_error(&path, "written");
        let draft = path.with_extension(format!("{}.new", header.generation));
        let made = Self::write_new(&draft, &path, header);
        let file = made.map_err(|error| {
            let _ = fs::remove_file(&draft);
            failed(error)
        })?;
        sync_directory(dir).map_err(failed)?;
        Ok(Self::of(path, header, file))
    }

    fn write_new(draft: &Path, path: &Path, header: Header) -> io::Result<File> {
        let mut options = private();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.open(draft)?;
        file.write_all_at(&header.encode(), 0)?;
        file.sync_all()?;
        fs::rename(draft, path)?;
        Ok(file)
    }

    fn of(path: PathBuf, header: Header, file: File) -> Self {
        Self {
            path,
            header,
            file,
            synced: AtomicU64::new(HEADER_BYTES),
            allocated: AtomicU64::new(0),
            cannot_preallocate: AtomicBool::new(false),
        }
    }

    /// Opens a segment; `None` if it does not exist.
    pub(super) fn open(dir: &Path, generation: u64) -> Result<Option<Self>> {
        let path = files::segment(dir, generation);
        let failed = path_error(&path, "opened");
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let opened = opened.or_else(|error| match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => File::open(&path),
            _ => Err(error),
        });
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = [0; HEADER_BYTES as usize];
        let header = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Header::decode(&bytes).filter(|header| header.generation == generation),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(failed(error)),
        };
        match header {
            Some(header) => Ok(Some(Self::of(path, header, file))),
            None => Err(damaged(&path, 0)),
        }
    }

    /// A segment without frames and without a file, for a read-only directory. `dir` is opened instead.
    pub(super) fn without_file(dir: &Path, header: Header) -> Result<Self> {
        let path = files::segment(dir, header.generation);
        let file = File::open(dir).map_err(path_error(dir, "opened"))?;
        Ok(Self::of(path, header, file))
    }

    /// The position of a frame at `offset`.
    pub(super) fn frame_position(&self, offset: u64) -> FramePosition {
        FramePosition {
            salt: self.header.salt,
            offset,
        }
    }

    /// Bytes that are certainly on disk.
    pub(super) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Relaxed)
    }

    /// Writes a frame at `offset`.
    pub(super) fn write(&self, frame: &[u8], offset: u64) -> Result<()> {
        self.allocate(offset + frame.len() as u64);
        let written = self.file.write_all_at(frame, offset);
        written.map_err(|error| {
            // The partial frame is invalid, and its space may be needed by others.
            let _ = self
                .file
                .set_len(offset.max(self.allocated.load(Ordering::Relaxed)));
            let path = self.path.display();
            io_error(
                format!("{path} cannot be written; nothing was committed"),
                error,
            )
        })
    }

    /// Preallocates the file up to `end` bytes, if possible.
    fn allocate(&self, end: u64) {
        if end <= self.allocated.load(Ordering::Relaxed)
            || self.cannot_preallocate.load(Ordering::Relaxed)
        {
            return;
        }
        let wanted = end.next_multiple_of(ALLOCATED_BYTES);
        // SAFETY: a system call on an open file.
        match unsafe { libc::fallocate(self.file.as_raw_fd(), 0, 0, wanted as libc::off_t) } {
            0 => self.allocated.store(wanted, Ordering::Relaxed),
            _ => self.cannot_preallocate.store(true, Ordering::Relaxed),
        }
    }

    /// Makes the first `end` bytes durable.
    pub(super) fn sync(&self, end: u64) -> Result<()> {
        if self.synced() >= end {
            return Ok(());
        }
        let synced = self.file.sync_data();
        synced.map_err(path_error(&self.path, "flushed"))?;
        self.synced.fetch_max(end, Ordering::Relaxed);
        Ok(())
    }

    /// Truncates the file after its frames, so that the bytes there never become valid again.
    pub(super) fn truncate(&self, end: u64) -> Result<()> {
        let truncated = self.file.set_len(end).and_then(|()| self.file.sync_all());
        truncated.map_err(path_error(&self.path, "truncated"))
    }

    /// Calls `take` with the payload of each frame from `from` to `to`.
    pub(super) fn read(&self, from: u64, to: u64, take: FrameHandler<'_>) -> Result<()> {
        let read = self.read_valid(from, Some(to), take)?;
        match read.end == to {
            true => Ok(()),
            false => Err(damaged(&self.path, read.end)),
        }
    }

    /// Like [`Self::read`], up to the first invalid frame.
    pub(super) fn read_valid(
        &self,
        from: u64,
        to: Option<u64>,
        take: FrameHandler<'_>,
    ) -> Result<ReadFrames> {
        let bytes = self.bytes(from, to)?;
        let mut read = ReadFrames {
            frames: 0,
            end: from,
            has_trailing_bytes: false,
            is_damaged: false,
        };
        let mut rest = bytes.as_slice();
        while rest.len() >= FRAME_HEADER_BYTES {
            let Some(frame) = frame::decode(rest, self.frame_position(read.end)) else {
                break;
            };
            take(frame.payload).ok_or_else(|| damaged(&self.path, read.end))?;
            read.frames += 1;
            read.end += frame.bytes();
            rest = &rest[frame.bytes() as usize..];
        }
        read.has_trailing_bytes = rest.iter().any(|byte| *byte != 0);
        read.is_damaged = frame::was_synced(rest, self.frame_position(read.end));
        Ok(read)
    }

    fn bytes(&self, from: u64, to: Option<u64>) -> Result<Vec<u8>> {
        let failed = path_error(&self.path, "read");
        let to = match to {
            Some(to) => to,
            None => self.file.metadata().map_err(failed)?.len(),
        };
        let mut bytes = vec![0; to.saturating_sub(from) as usize];
        match self.file.read_exact_at(&mut bytes, from) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(damaged(&self.path, from))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// Called with the payload of a frame; returns `None` if it is invalid.
pub(super) type FrameHandler<'t> = &'t mut dyn FnMut(&[u8]) -> Option<()>;

/// The valid frames of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadFrames {
    pub(super) frames: u64,
    /// The end of the last one.
    pub(super) end: u64,
    /// Other bytes follow.
    pub(super) has_trailing_bytes: bool,
    /// A frame that was on disk already is missing.
    pub(super) is_damaged: bool,
}

/// The error of a segment with an invalid frame.
pub(super) fn damaged(path: &Path, offset: u64) -> Error {
    let message = format!(
        "{} is damaged at byte {offset}; nothing was changed. Restore a backup into another directory",
        path.display()
    );
    Error::new(ErrorKind::Corrupt, message)
}
